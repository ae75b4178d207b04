import type { AbortSignalLike } from '../../cancellation.js';
import type { Files, Machine } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { MediaFacts } from '../../ports/media.js';
import type { ObjectStore } from '../../ports/object-store.js';
import { MAX_SIGNATURE_BYTES, SIGN_WAIT_MS } from '../../ports/output-signer.js';
import type { DeliveredObject, Generation } from '../generation.js';

interface Signing {
  readonly kind: Generation['modality'];
  /** Takes a key under which nothing was written. */
  readonly otherKey: () => Promise<string>;
  /** Its abort ends the wait for the signer. */
  readonly signal: AbortSignalLike;
}

/**
 * Signs a stored output, and stores the signed file under another key; existing files do not change. Returns the output
 * unsigned if there is no signer, if it signs nothing, and if it fails or is abandoned: the output is paid for, and
 * contains its mark anyway. Throws `StoreUnavailable`.
 */
export async function signOutput(
  context: Files & Machine,
  unsigned: DeliveredObject,
  signing: Signing,
): Promise<DeliveredObject> {
  const { objects, outputSigner, log } = context;
  if (outputSigner === undefined || signing.signal.aborted) return unsigned;
  try {
    const signed = await signedInTime(context, unsigned, signing);
    if (signed === undefined) return unsigned;
    // The signed file is stored; retention removes the unsigned copy if it is left here.
    await objects.remove(unsigned.objectKey).catch(() => undefined);
    return signed;
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    log.warn('output not signed', { objectKey: unsigned.objectKey, error });
    return unsigned;
  }
}

/** A signer may wait for a time stamp server. A result that arrives after the wait takes no key and is not stored. */
async function signedInTime(
  context: Files & Machine,
  unsigned: DeliveredObject,
  signing: Signing,
): Promise<DeliveredObject | undefined> {
  const { clock, settings } = context;
  const waitMs = Math.min(SIGN_WAIT_MS, Math.ceil(settings.providerCallMs / 2));
  let isOver = false;
  let stopWaiting = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    const cancelTimer = clock.after(waitMs, () => reject(new Error(`Signing took longer than ${waitMs} ms.`)));
    const onAbort = () => reject(new Error('The call ended before the output was signed.'));
    signing.signal.addEventListener('abort', onAbort, { once: true });
    stopWaiting = () => {
      cancelTimer();
      signing.signal.removeEventListener('abort', onAbort);
    };
  });
  try {
    return await Promise.race([storeSigned(context, unsigned, signing, () => isOver), late]);
  } finally {
    isOver = true;
    stopWaiting();
  }
}

async function storeSigned(
  context: Files & Machine,
  unsigned: DeliveredObject,
  { kind, otherKey }: Signing,
  isOver: () => boolean,
): Promise<DeliveredObject | undefined> {
  const { objects, outputSigner } = context;
  const { objectKey, byteSize, mark } = unsigned;
  const before = await factsOf(context, unsigned, kind);
  // The output is not usable; the inspection reports why.
  if (before === undefined || outputSigner === undefined) return undefined;
  const signed = await outputSigner.sign({
    mediaType: before.mediaType,
    byteSize,
    ...(mark === undefined ? {} : { mark }),
    open: async () => opened(objects, objectKey),
  });
  if (signed === null) return undefined;
  if (isOver()) return discard(signed);
  const key = await otherKey();
  const limit = { mediaType: 'application/octet-stream', maxBytes: byteSize + MAX_SIGNATURE_BYTES };
  const stored = await objects.write(key, signed, limit);
  if (stored === 'too-large') throw new Error(`The signer added more than ${MAX_SIGNATURE_BYTES} bytes.`);
  const after = await factsOf(context, { objectKey: key, byteSize: stored.byteSize }, kind);
  if (after === undefined || !areSame(before, after)) {
    await objects.remove(key);
    throw new Error('The signed file is not the media that was to be signed.');
  }
  return { ...unsigned, ...stored, objectKey: key };
}

/** Begins to read and stops, so that the signer frees what it holds. */
async function discard(bytes: AsyncIterable<Uint8Array>): Promise<undefined> {
  const reading = bytes[Symbol.asyncIterator]();
  await reading.next();
  await reading.return?.();
}

async function factsOf(
  { objects, mediaProbe, settings }: Files & Machine,
  { objectKey, byteSize }: Pick<DeliveredObject, 'objectKey' | 'byteSize'>,
  kind: Generation['modality'],
): Promise<MediaFacts | undefined> {
  const file = {
    byteSize,
    read: async (range?: { readonly from: number; readonly to: number }) => opened(objects, objectKey, range),
  };
  const facts = await mediaProbe.probe(file, { maxPixels: settings.maxOutputPixels, decode: 'header', kind });
  return 'invalid' in facts ? undefined : facts;
}

function areSame(
  { contentBytes: _before, ...before }: MediaFacts,
  { contentBytes: _after, ...after }: MediaFacts,
): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

async function opened(
  objects: ObjectStore,
  key: string,
  range?: Parameters<ObjectStore['read']>[1],
): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await objects.read(key, range);
  if (bytes === null) throw new StoreUnavailable(`The object store lost ${key}.`);
  return bytes;
}
