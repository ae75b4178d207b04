import type { AbortSignalLike } from '../../../core/cancellation.js';
import type { Waits } from '../../../core/cancellation.js';
import { MAX_HEADER_BYTES, readImageHeader } from '../../../core/media/image-header.js';
import type { ProviderReference } from '../../../core/ports/provider.js';

/**
 * The first bytes of a picture, up to the end of its header. They are few enough to be held while the memory for the
 * rest is awaited.
 */
export async function headOf(reference: ProviderReference): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array();
  for await (const chunk of await reference.open()) {
    head = head.byteLength === 0 ? chunk : Buffer.concat([head, chunk]);
    if (head.byteLength >= MAX_HEADER_BYTES || readImageHeader(head) !== 'more') break;
  }
  return head;
}

/** All bytes. Throws when there are more or fewer than announced: then the file is not the one that was checked. */
export async function bytesOf(reference: ProviderReference, head: Uint8Array): Promise<Uint8Array> {
  if (head.byteLength === reference.byteSize) return head;
  const bytes = new Uint8Array(reference.byteSize);
  let length = 0;
  for await (const chunk of await reference.open()) {
    if (length + chunk.byteLength > bytes.byteLength) throw new Error('A reference file is longer than announced.');
    bytes.set(chunk, length);
    length += chunk.byteLength;
  }
  if (length !== bytes.byteLength) throw new Error('A reference file is shorter than announced.');
  return bytes;
}

/** A call whose signal is aborted no longer waits for memory. */
export function waitsOf(signal: AbortSignalLike): Waits {
  return {
    get isOver() {
      return signal.aborted;
    },
    onOver: (tell) => {
      signal.addEventListener('abort', tell, { once: true });
      return () => signal.removeEventListener('abort', tell);
    },
  };
}
