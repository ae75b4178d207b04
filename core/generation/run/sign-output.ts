import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { MediaFacts } from '../../ports/media-probe.js';
import type { ObjectStore } from '../../ports/object-store.js';
import { MAX_SIGNATURE_BYTES, SIGN_WAIT_MS } from '../../ports/output-signer.js';
import type { DeliveredObject, Generation } from '../generation.js';

type SigningContext = Pick<Context, 'objects' | 'outputSigner' | 'mediaProbe' | 'clock' | 'log' | 'settings'>;

interface Signing {
  readonly kind: Generation['modality'];
  /** Takes a key under which nothing was written. */
  readonly otherKey: () => Promise<string>;
}

/**
 * Signs a stored output, and stores the signed file under another key; nothing that was written changes. Returns the output
 * unsigned where there is no signer, where it signs nothing, and where it fails: the output is paid for, and its mark is in it
 * all the same. Throws `StoreUnavailable`.
 */
export async function signOutput(
  context: SigningContext,
  unsigned: DeliveredObject,
  signing: Signing,
): Promise<DeliveredObject> {
  const { objects, outputSigner, log } = context;
  if (outputSigner === undefined) return unsigned;
  try {
    const signed = await inTime(context, storeSigned(context, unsigned, signing));
    if (signed === undefined) return unsigned;
    await objects.remove(unsigned.objectKey);
    return signed;
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    log.warn('output not signed', { objectKey: unsigned.objectKey, error });
    return unsigned;
  }
}

/** A signer may wait for a server of time stamps. What an abandoned one stores later is removed with the generation. */
async function inTime<T>({ clock, settings }: SigningContext, signing: Promise<T>): Promise<T> {
  const waitMs = Math.min(SIGN_WAIT_MS, Math.ceil(settings.providerCallMs / 2));
  let cancelTimer: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    cancelTimer = clock.after(waitMs, () => reject(new Error(`Signing took longer than ${waitMs} ms.`)));
  });
  try {
    return await Promise.race([signing, late]);
  } finally {
    cancelTimer?.();
  }
}

async function storeSigned(
  context: SigningContext,
  unsigned: DeliveredObject,
  { kind, otherKey }: Signing,
): Promise<DeliveredObject | undefined> {
  const { objects, outputSigner } = context;
  const { objectKey, byteSize, mark } = unsigned;
  const before = await factsOf(context, unsigned, kind);
  // Not a usable output; the inspection says why.
  if (before === undefined || outputSigner === undefined) return undefined;
  const signed = await outputSigner.sign({
    mediaType: before.mediaType,
    byteSize,
    ...(mark === undefined ? {} : { mark }),
    open: async () => opened(objects, objectKey),
  });
  if (signed === null) return undefined;
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

async function factsOf(
  { objects, mediaProbe, settings }: SigningContext,
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

function areSame(before: MediaFacts, after: MediaFacts): boolean {
  const names = ['kind', 'mediaType', 'widthPx', 'heightPx'] as const;
  return names.every((name) => before[name] === after[name]);
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
