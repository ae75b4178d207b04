import { throwIfAborted, type Waits } from '../cancellation.js';
import type { Call, Files, Machine, Work } from '../context.js';
import { busy, StoreUnavailable } from '../errors.js';
import { isUuid } from '../ids.js';
import type { ProbedFile, Thumbnail, ThumbnailRefusal } from '../ports/media.js';
import { startOfDay } from '../settings.js';
import { retentionOf } from './decide.js';
import { type Generation, type Output, THUMBNAIL_SIDES_PX, type ThumbnailSide } from './generation.js';
import { tryChange } from './settle-generation.js';
import type { Undecodable } from './thumbnail-flights.js';

/*
 * Thumbnails of outputs: WebP pictures that are made when they are first requested, stored beside their output, and removed
 * with it. Their addresses are signed, so that a page shows them without a credential.
 */

/** The thumbnails of one output. */
export interface OutputThumbnails {
  readonly mediaId: string;
  /** The address of each size, by its longer side in pixels. */
  readonly urls: Readonly<Record<ThumbnailSide, string>>;
  /** The same with the sizes, the smallest first. */
  readonly sizes: readonly ThumbnailAddress[];
  /** When the addresses stop working, in milliseconds: the end of the next UTC day. Until the end of this day they stay the same. */
  readonly expiresAt: number;
}

export interface ThumbnailAddress {
  readonly url: string;
  readonly widthPx: number;
  readonly heightPx: number;
}

const DAY_MS = 86_400_000;

/**
 * The addresses of the thumbnails of a generation's outputs: paths of this service, behind `baseUrl` where one is given. Nothing
 * is read, and no thumbnail has to exist. Empty once the outputs are gone; outputs that have no thumbnails are left out.
 */
export function thumbnailsOf(
  { clock, digests, videoFrames }: Pick<Machine, 'clock' | 'digests'> & Partial<Pick<Files, 'videoFrames'>>,
  { generationId, outputs, outputsRemovedAt, deletedAt }: Generation,
  baseUrl = '',
): readonly OutputThumbnails[] {
  if (outputsRemovedAt !== undefined || deletedAt !== undefined) return [];
  const expiresAt = startOfDay(clock.now()) + 2 * DAY_MS;
  return outputs
    .filter((output) => hasThumbnails(output, videoFrames))
    .map((output) => {
      const { mediaId } = output;
      const signature = thumbnailSignature({ digests }, { generationId, mediaId, expires: String(expiresAt) });
      const sizes = THUMBNAIL_SIDES_PX.map((sidePx) => ({
        url: `${baseUrl}/thumbnails/${generationId}/${mediaId}/${sidePx}?expires=${expiresAt}&signature=${signature}`,
        ...thumbnailSize(output, sidePx),
      }));
      const urls = Object.fromEntries(sizes.map(({ url }, index) => [THUMBNAIL_SIDES_PX[index], url]));
      return { mediaId, urls: urls as Record<ThumbnailSide, string>, sizes, expiresAt };
    });
}

function hasThumbnails({ kind }: Output, videoFrames: Files['videoFrames']): boolean {
  return kind === 'image' || videoFrames !== undefined;
}

/** The size of a thumbnail in pixels. */
export function thumbnailSize(
  { widthPx, heightPx }: Pick<Output, 'widthPx' | 'heightPx'>,
  sidePx: ThumbnailSide,
): { readonly widthPx: number; readonly heightPx: number } {
  const scale = Math.min(1, sidePx / Math.max(widthPx, heightPx));
  const scaled = (length: number): number => Math.max(1, Math.round(length * scale));
  return { widthPx: scaled(widthPx), heightPx: scaled(heightPx) };
}

/** Half of a digest is as hard to guess as any secret here, and makes lists shorter. */
const SIGNATURE_LENGTH = 32;

/**
 * Signs the thumbnails of one output, in every size. The secret is that of the installation, so that each of its processes
 * knows the signatures of the others.
 */
export function thumbnailSignature(
  { digests }: Pick<Machine, 'digests'>,
  {
    generationId,
    mediaId,
    expires,
  }: { readonly generationId: string; readonly mediaId: string; readonly expires: string },
): string {
  return digests.keyed(`thumbnails of ${generationId} ${mediaId} until ${expires}`).slice(0, SIGNATURE_LENGTH);
}

/** Beside the output, and not under it: stores over a file system have no key under another one. */
function thumbnailKey(objectKey: string, sidePx: ThumbnailSide): string {
  return `${objectKey}-${sidePx}`;
}

/** The keys of all thumbnails that an output may have. */
export function thumbnailKeysOf(objectKey: string): readonly string[] {
  return THUMBNAIL_SIDES_PX.map((sidePx) => thumbnailKey(objectKey, sidePx));
}

/** A thumbnail that can be read, or made. */
export interface FoundThumbnail {
  readonly generation: Generation;
  readonly output: Output;
  readonly sidePx: ThumbnailSide;
}

/** Finds a thumbnail, whether or not it has been made; undefined if the output is gone, or there never was one. */
export async function findThumbnail(
  { generations, clock, settings, videoFrames, call }: Work & Files & Machine & Call,
  {
    generationId,
    mediaId,
    sidePx,
  }: { readonly generationId: string; readonly mediaId: string; readonly sidePx: ThumbnailSide },
): Promise<FoundThumbnail | undefined> {
  const generation = isUuid(generationId) ? await generations.read(generationId, call) : null;
  if (generation?.kind !== 'generation') return undefined;
  const output = keptOutput(generation, mediaId);
  const isKept = clock.now() < retentionOf(generation, settings).outputsExpireAt;
  return output !== undefined && isKept && hasThumbnails(output, videoFrames)
    ? { generation, output, sidePx }
    : undefined;
}

function keptOutput({ outputs, deletedAt, outputsRemovedAt }: Generation, mediaId: string): Output | undefined {
  if (deletedAt !== undefined || outputsRemovedAt !== undefined) return undefined;
  return outputs.find((output) => output.mediaId === mediaId);
}

/** `gone`: the output was removed meanwhile. */
export type NoThumbnail = Undecodable | 'gone';

/** A thumbnail is far smaller, whatever it shows. */
const MAX_THUMBNAIL_BYTES = 16 * 1024 * 1024;

/**
 * The bytes of a thumbnail, which is made and stored if it is not there yet. Throws SERVICE_UNAVAILABLE while too many are
 * being made, `CallOver`, and `StoreUnavailable`.
 */
export async function readThumbnail(
  context: Work & Files & Machine & Call,
  found: FoundThumbnail,
): Promise<Uint8Array | NoThumbnail> {
  const { output, sidePx, generation } = found;
  const { objects, thumbnailFlights, call } = context;
  throwIfAborted(call);
  const key = thumbnailKey(output.objectKey, sidePx);
  const stored = output.thumbnailBytes?.[sidePx] === undefined ? null : await objects.read(key);
  if (stored !== null) return allOf(stored);
  const refusal = thumbnailFlights.refusalOf(output.objectKey);
  if (refusal !== undefined) return refusal;
  const made = await thumbnailFlights.share(
    { key, accountId: generation.accountId },
    (waits) => makeThumbnail(context, found, waits),
    call,
  );
  return made ?? thumbnailFlights.refusalOf(output.objectKey) ?? 'gone';
}

/**
 * Makes and stores one. It is recorded before it is stored, so that whatever removes the output removes it too; an output that was
 * removed before that has none. If the output was removed while the thumbnail was being stored, the thumbnail is removed again.
 */
async function makeThumbnail(
  context: Work & Files & Machine,
  { generation, output, sidePx }: FoundThumbnail,
  waits: Waits,
): Promise<Uint8Array | undefined> {
  const { objects, thumbnailFlights, generations } = context;
  const { objectKey, mediaId } = output;
  const source = new StoredOutput(objects, output);
  const made = await thumbnailOf(context, source, sidePx, waits).catch((error: unknown) => {
    if (source.isGone) return undefined;
    throw error;
  });
  if (made === undefined) return undefined;
  if (made === 'busy') throw busy('Too many thumbnails are being made; try again.');
  if (typeof made === 'string') {
    thumbnailFlights.refuse(objectKey, made);
    return undefined;
  }
  const { bytes, mediaType } = made;
  const recorded = await tryChange(context, generation, {
    event: 'thumbnail-made',
    mediaId,
    sidePx,
    byteSize: bytes.byteLength,
  });
  if (recorded === null || recorded.refused === 'NOT_ALLOWED') return undefined;
  const key = thumbnailKey(objectKey, sidePx);
  await objects.write(key, once(bytes), { mediaType, maxBytes: MAX_THUMBNAIL_BYTES });
  const newest = await generations.read(generation.generationId);
  if (newest?.kind === 'generation' && keptOutput(newest, mediaId) !== undefined) return bytes;
  await objects.remove(key);
  return undefined;
}

async function thumbnailOf(
  { previews, videoFrames }: Files,
  source: StoredOutput,
  sidePx: ThumbnailSide,
  waits: Waits,
): Promise<Thumbnail | ThumbnailRefusal> {
  const { mark, kind } = source.output;
  const size = thumbnailSize(source.output, sidePx);
  const form = { ...size, ...(mark === undefined ? {} : { mark }) };
  if (kind === 'image' || videoFrames === undefined) return previews.thumbnail(source, form, waits);
  const frame = await videoFrames.first(source, size, waits);
  if (typeof frame === 'string') return frame;
  return previews.thumbnail({ byteSize: frame.byteLength, read: async () => once(frame) }, form, waits);
}

/** The file of an output, as the previews read it. */
class StoredOutput implements ProbedFile {
  readonly byteSize: number;
  readonly widthPx: number;
  readonly heightPx: number;
  /** Whether it was gone when it was to be read. */
  isGone = false;

  constructor(
    private readonly objects: Files['objects'],
    readonly output: Output,
  ) {
    ({ byteSize: this.byteSize, widthPx: this.widthPx, heightPx: this.heightPx } = output);
  }

  async read(range?: { readonly from: number; readonly to: number }): Promise<AsyncIterable<Uint8Array>> {
    const bytes = await this.objects.read(this.output.objectKey, range);
    this.isGone = bytes === null;
    if (bytes === null) throw new StoreUnavailable(`The object store has no ${this.output.objectKey}.`);
    return bytes;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function allOf(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  if (all.length === 1) return all[0] as Uint8Array;
  const joined = new Uint8Array(all.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of all) {
    joined.set(piece, at);
    at += piece.byteLength;
  }
  return joined;
}
