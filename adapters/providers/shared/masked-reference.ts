import { tmpdir } from 'node:os';
import type { PngOptions, Sharp, SharpOptions } from 'sharp';
import { type AbortSignalLike, throwIfAborted } from '../../../core/cancellation.js';
import { decodeBytes, type ImageHeader, readImageHeader } from '../../../core/media/image-header.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProviderReference, SubmitAnswer } from '../../../core/ports/provider.js';
import type { BodyFile } from '../../http/http-request.js';
import { UnnamedFile } from '../../unnamed-file.js';
import { bytesOf, headOf, waitsOf } from './reference-bytes.js';
import { inputRefusal } from './sentences.js';
import { TaskRefused } from './task-refused.js';
import { ReferenceUnprepared, type WholeReferences } from './whole-references.js';

/**
 * How a provider wants the mask of a picture. `white`: one channel, 255 where the picture is to be made anew; `black`: one
 * channel, 0 there; `alpha`: a picture that is transparent there.
 */
export const MASK_FORMS = ['white', 'black', 'alpha'] as const;
export type MaskForm = (typeof MASK_FORMS)[number];

/** A reference with transparent areas as two upright pictures of the same size. */
export interface MaskedPicture {
  /** The colours without the alpha channel, not blended with anything: also those under transparent pixels. */
  readonly colours: BodyFile;
  readonly mask: BodyFile;
  /** Frees the disk. Never throws. */
  readonly close: () => Promise<void>;
}

/** The parts of a call that splitting a picture needs. */
export interface Splitting {
  /** Shared by the process: nothing may be reserved in it meanwhile. */
  readonly memory: MemoryBudget;
  readonly signal: AbortSignalLike;
  /** The folder for the results; the system's folder for temporary files when absent. */
  readonly folder?: string;
}

/**
 * Splits a reference into PNG files of 8-bit sRGB, which wait on disk: the memory is free again when this resolves.
 * The pixels are split before anything else is done with them, as a resized picture has no colours where it is
 * transparent. Throws `TaskRefused` for a file that cannot be decoded, and `ReferenceUnprepared` for all else.
 */
export async function splitMasked(
  reference: ProviderReference,
  form: MaskForm,
  splitting: Splitting,
): Promise<MaskedPicture> {
  return decoding(reference, splitting, async (bytes, header, files) => ({
    colours: await files.png((image) => image.removeAlpha(), bytes, header, PHOTO),
    mask: await files.png(MASK_OF[form], bytes, header),
  }));
}

/**
 * The same for a provider that takes the mask as a PNG with an alpha channel. An upright file that has one stays as it is, as the
 * mask only if it is a PNG below `maxMaskBytes`: another one is encoded anew, without the colours. Throws `TaskRefused` also for a
 * mask that is still too large.
 */
export async function keptMasked(
  reference: ProviderReference,
  maxMaskBytes: number,
  splitting: Splitting,
): Promise<MaskedPicture> {
  return decoding(reference, splitting, async (bytes, header, files) => {
    const isKept = hasAlphaChannel(bytes) && (await isUpright(bytes));
    const isMask = isKept && reference.mediaType === 'image/png' && reference.byteSize < maxMaskBytes;
    const colours = isKept ? reference : await files.png((image) => image, bytes, header, PHOTO);
    const mask = isMask ? reference : await files.png(MASK_OF.alpha, bytes, header);
    if (mask.byteSize >= maxMaskBytes)
      throw new TaskRefused(
        'The transparent areas of a reference file are too intricate for the provider; send fewer pixels.',
      );
    return { colours, mask };
  });
}

/** The files of a task. The colours of the masked reference come first, as servers apply a mask to the first picture. */
export interface TaskFiles {
  readonly references: readonly ProviderReference[];
  /** The mask of the masked reference; absent if there is none. */
  readonly mask?: BodyFile;
}

/**
 * Sends a task with at most one masked reference, which `split` splits before and whose files are freed after. `split` is
 * undefined where the provider takes no mask. Returns the refusal of a reference that cannot be split.
 */
export async function submitMasked(
  whole: WholeReferences,
  split: ((reference: ProviderReference) => Promise<MaskedPicture>) | undefined,
  { signal }: Pick<Splitting, 'signal'>,
  send: (files: TaskFiles) => Promise<SubmitAnswer>,
): Promise<SubmitAnswer> {
  const { references } = whole;
  const [masked, another] = references.filter(({ isMasked }) => isMasked === true);
  if (masked === undefined) return send({ references });
  if (split === undefined) return inputRefusal('The provider takes no file with transparent areas.');
  if (another !== undefined) return inputRefusal('The provider takes one file with transparent areas.');
  const parts = await whole.sent(split(masked), signal).catch((error: unknown) => {
    if (error instanceof TaskRefused) return inputRefusal(error.message);
    throw error;
  });
  if ('accepted' in parts) return parts;
  const { colours, mask, close } = parts;
  const { mediaType, byteSize } = colours;
  const opaque: ProviderReference = { role: masked.role, mediaType, byteSize, open: () => colours.open() };
  try {
    return await send({ references: [opaque, ...references.filter((one) => one !== masked)], mask });
  } finally {
    await close();
  }
}

type Edit = (image: Sharp) => Sharp;

/** A photograph is a third smaller than without filters, in about the same time: servers limit what a request may have. */
const PHOTO: PngOptions = { adaptiveFiltering: true, compressionLevel: 3 };

const MASK_OF: Readonly<Record<MaskForm, Edit>> = {
  white: (image) => image.ensureAlpha().extractChannel('alpha').negate(),
  black: (image) => image.ensureAlpha().extractChannel('alpha'),
  // Black everywhere: only the alpha channel counts, and the file is small.
  alpha: (image) => image.ensureAlpha().linear([0, 0, 0, 1], [0, 0, 0, 0]),
};

/** A reference as a file that readers find an alpha channel in. */
export interface AlphaPicture {
  readonly picture: BodyFile;
  /** Frees the disk. Never throws. */
  readonly close: () => Promise<void>;
}

/**
 * The reference itself where its pixels have an alpha channel. A PNG whose transparency is that of a palette or of one colour is
 * encoded anew with one, as many readers see none there. Throws as `splitMasked`.
 */
export async function withAlphaChannel(reference: ProviderReference, splitting: Splitting): Promise<AlphaPicture> {
  if (hasAlphaChannel(await headOf(reference))) return { picture: reference, close: async () => undefined };
  const { colours: picture, close } = await decoding(reference, splitting, async (bytes, header, files) => {
    const colours = await files.png((image) => image, bytes, header, PHOTO);
    return { colours, mask: colours };
  });
  return { picture, close };
}

const PNG_SIGNATURE = 0x89504e47;
/** The offset in the bytes of a PNG. */
const COLOUR_TYPE_AT = 25;
const WITH_ALPHA: readonly (number | undefined)[] = [4, 6];

/** In formats other than PNG, all transparency is an alpha channel. */
function hasAlphaChannel(head: Uint8Array): boolean {
  const isPng = head.byteLength > COLOUR_TYPE_AT && Buffer.from(head.subarray(0, 4)).readUInt32BE() === PNG_SIGNATURE;
  return !isPng || WITH_ALPHA.includes(head[COLOUR_TYPE_AT]);
}

/** A picture that is turned by its EXIF orientation is held as a whole, with so many bytes per pixel. */
const WEBP_PIXEL_BYTES = 4;

type Decoded = (
  bytes: Uint8Array,
  header: ImageHeader,
  files: PngFiles,
) => Promise<Pick<MaskedPicture, 'colours' | 'mask'>>;

/** A failure that is not the file's fault, such as a full disk, becomes `ReferenceUnprepared`: nothing was sent by then. */
async function decoding(reference: ProviderReference, splitting: Splitting, work: Decoded): Promise<MaskedPicture> {
  try {
    return await decodedBy(reference, splitting, work);
  } catch (error) {
    throw error instanceof TaskRefused ? error : new ReferenceUnprepared(error);
  }
}

/** Decodes once the memory is free. The files that were made are freed where it fails. */
async function decodedBy(
  reference: ProviderReference,
  { memory, signal, folder = tmpdir() }: Splitting,
  work: Decoded,
): Promise<MaskedPicture> {
  throwIfAborted(signal);
  const head = await headOf(reference);
  const header = readImageHeader(head);
  if (typeof header === 'string' || !hasUsableSides(header)) {
    await readThrough(reference);
    throw unreadable();
  }
  const { widthPx, heightPx, rowPixelBytes } = header;
  const turnedBytes = widthPx * heightPx * Math.max(rowPixelBytes, WEBP_PIXEL_BYTES);
  return memory.during(
    reference.byteSize + decodeBytes(header) + turnedBytes,
    async () => {
      const files = new PngFiles(folder, signal);
      try {
        const made = await work(await bytesOf(reference, head), header, files);
        return { ...made, close: () => files.close() };
      } catch (error) {
        await files.close();
        throw error;
      }
    },
    waitsOf(signal),
  );
}

/** The longest side of an upload. */
const MAX_SIDE_PX = 65_535;

function hasUsableSides({ widthPx, heightPx }: ImageHeader): boolean {
  return [widthPx, heightPx].every((side) => side >= 1 && side <= MAX_SIDE_PX);
}

/** Throws where the bytes are not those that were announced: then the file is not at fault. */
async function readThrough(reference: ProviderReference): Promise<void> {
  let byteLength = 0;
  for await (const chunk of await reference.open()) byteLength += chunk.byteLength;
  if (byteLength !== reference.byteSize) throw new Error('A reference file has another length than announced.');
}

/** Pictures on disk, in files without a name: nothing is left behind if the process ends. */
class PngFiles {
  private readonly files: UnnamedFile[] = [];

  constructor(
    private readonly folder: string,
    private readonly signal: AbortSignalLike,
  ) {}

  /** Encodes row by row into a file: the result is never in memory. */
  async png(edit: Edit, bytes: Uint8Array, header: ImageHeader, form: PngOptions = {}): Promise<BodyFile> {
    throwIfAborted(this.signal);
    const file = await UnnamedFile.open(this.folder);
    this.files.push(file);
    const { openUpright } = await import('../../upright-image.js');
    const image = openUpright(bytes, optionsFor(header)).toColourspace('srgb');
    await edit(image)
      .png(form)
      .toFile(file.path)
      .catch((error: unknown) => refuse(bytes, header, error));
    await file.measure();
    return { mediaType: 'image/png', byteSize: file.byteSize, open: async () => file.read() };
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.files.splice(0).map((file) => file.close()));
  }
}

async function isUpright(bytes: Uint8Array): Promise<boolean> {
  const { isShownUpright } = await import('../../upright-image.js');
  return isShownUpright(bytes);
}

/** The first frame, of as many pixels as were counted. */
function optionsFor({ widthPx, heightPx }: ImageHeader): SharpOptions {
  return { limitInputPixels: widthPx * heightPx, failOn: 'error', pages: 1 };
}

/** Refuses a picture that cannot be decoded. If it can, the disk failed: the error is passed on. */
async function refuse(bytes: Uint8Array, header: ImageHeader, error: unknown): Promise<never> {
  const { sharp } = await import('../../image-library.js');
  await sharp(bytes, optionsFor(header))
    .extract({ left: 0, top: header.heightPx - 1, width: 1, height: 1 })
    .raw()
    .toBuffer()
    .catch(() => {
      throw unreadable();
    });
  throw error;
}

function unreadable(): TaskRefused {
  return new TaskRefused('A reference file could not be read as a picture; send an intact PNG or WebP file.');
}
