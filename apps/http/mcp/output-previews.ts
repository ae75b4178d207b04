import type { Context } from '../../../core/context.js';
import type { Output } from '../../../core/generation/generation.js';
import type { Preview, Previews } from '../../../core/ports/previews.js';

/** What a process keeps of previews it made: a client that asks again and again costs no more decoding. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** The previews that were made last, by the key of the object, whose bytes never change. */
class KeptPreviews {
  private readonly byKey = new Map<string, Preview>();
  private bytes = 0;

  find(key: string): Preview | undefined {
    return this.byKey.get(key);
  }

  keep(key: string, preview: Preview): void {
    this.drop(key);
    this.byKey.set(key, preview);
    this.bytes += preview.bytes.byteLength;
    for (const oldest of this.byKey.keys()) {
      if (this.bytes <= MAX_KEPT_BYTES) return;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    this.bytes -= this.byKey.get(key)?.bytes.byteLength ?? 0;
    this.byKey.delete(key);
  }
}

const keptOf = new WeakMap<Previews, KeptPreviews>();

/** A small picture of an output, of `maxBytes` at most; null where there is none to be had. */
export async function previewOfOutput(
  { objects, previews, call }: Pick<Context, 'objects' | 'previews' | 'call'>,
  { objectKey, byteSize, mark }: Output,
  maxBytes: number,
): Promise<Preview | null> {
  const kept = keptOf.get(previews) ?? new KeptPreviews();
  keptOf.set(previews, kept);
  const found = kept.find(objectKey);
  if (found !== undefined) return found;
  const bytes = await objects.read(objectKey);
  if (bytes === null) return null;
  const made = await previews.ofImage(
    bytes,
    { sourceBytes: byteSize, maxBytes, ...(mark === undefined ? {} : { mark }) },
    call,
  );
  if (made !== null) kept.keep(objectKey, made);
  return made;
}
