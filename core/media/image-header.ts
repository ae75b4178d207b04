import type { Modality } from '../generation/generation.js';

/** How a file stores its picture, as far as that determines what a decoder must hold in memory. */
export type ImageForm = 'PNG' | 'interlaced PNG' | 'JPEG' | 'progressive JPEG' | 'WebP';

export interface ImageHeader {
  readonly form: ImageForm;
  readonly widthPx: number;
  readonly heightPx: number;
  /** Bytes of one pixel in the rows that the decoder yields; 0 if it shrinks the picture itself. */
  readonly rowPixelBytes: number;
  /**
   * The bytes a decoder holds for the whole picture before it yields its first row; 0 if rows are decoded one after
   * another.
   */
  readonly heldBytes: number;
  /** Whether pixels can be transparent; false only where the header excludes it. */
  readonly mayHaveAlpha: boolean;
}

/**
 * `more`: the header continues after these bytes. `none`: they do not begin like a PNG, JPEG or WebP, or the header
 * makes no sense.
 */
export type HeaderAnswer = ImageHeader | 'more' | 'none';

/**
 * Longer than any usual header, metadata included; a JPEG with a large colour profile has a longer one. If it is not complete in
 * so many bytes, the worst case is assumed.
 */
export const MAX_HEADER_BYTES = 256 * 1024;

/** Reads the header of a picture from the first bytes of its file, and decodes nothing. */
export function readImageHeader(bytes: Uint8Array): HeaderAnswer {
  if (bytes.byteLength < 12) return 'more';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0) === 0x89504e47) return readPng(view);
  // Browsers and sniffers take no file for a JPEG without a marker here.
  if (view.getUint16(0) === 0xffd8 && view.getUint8(2) === 0xff) return readJpeg(view);
  return view.getUint32(0) === RIFF && view.getUint32(8) === WEBP ? readWebp(view) : 'none';
}

/** Channels by colour type. Transparency may be declared after the header, and makes a channel more. */
const PNG_CHANNELS: Readonly<Record<number, number>> = { 0: 2, 2: 4, 3: 4, 4: 2, 6: 4 };

function readPng(view: DataView): HeaderAnswer {
  if (view.byteLength < 29) return 'more';
  const [widthPx, heightPx, depth, channels] = [
    view.getUint32(16),
    view.getUint32(20),
    view.getUint8(24),
    PNG_CHANNELS[view.getUint8(25)],
  ];
  if (channels === undefined) return 'none';
  const pixelBytes = channels * (depth === 16 ? 2 : 1);
  const isInterlaced = view.getUint8(28) !== 0;
  return {
    form: isInterlaced ? 'interlaced PNG' : 'PNG',
    widthPx,
    heightPx,
    rowPixelBytes: pixelBytes,
    heldBytes: isInterlaced ? widthPx * heightPx * pixelBytes : 0,
    // With any colour type, a later chunk may name transparent colours.
    mayHaveAlpha: true,
  };
}

const RIFF = 0x52494646;
const WEBP = 0x57454250;
const LOSSY = 0x56503820;
const LOSSLESS = 0x5650384c;
const EXTENDED = 0x56503858;
const IS_ANIMATED = 0x02;
const HAS_ALPHA = 0x10;
/** Four channels of a byte each, whatever the file has. */
const WEBP_PIXEL_BYTES = 4;
/** How many bytes of a file state its width and height, by the type of the first chunk. */
const WEBP_SIZE_END: Readonly<Record<number, number>> = { [LOSSY]: 30, [LOSSLESS]: 25, [EXTENDED]: 30 };

function readWebp(view: DataView): HeaderAnswer {
  if (view.byteLength < 16) return 'more';
  const first = view.getUint32(12);
  const sizeEnd = WEBP_SIZE_END[first];
  if (sizeEnd === undefined) return 'none';
  if (view.byteLength < sizeEnd) return 'more';
  if (first === LOSSY) return webp(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff, 1, false);
  if (first === LOSSLESS) {
    const packed = view.getUint32(21, true);
    return webp((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1, 1, ((packed >>> 28) & 1) === 1);
  }
  const flags = view.getUint8(20);
  // For an animation, the canvas is held as well as the frame that is decoded. Its frames need not cover the canvas.
  const isAnimated = (flags & IS_ANIMATED) !== 0;
  const mayHaveAlpha = isAnimated || (flags & HAS_ALPHA) !== 0;
  return webp(uint24(view, 24) + 1, uint24(view, 27) + 1, isAnimated ? 2 : 1, mayHaveAlpha);
}

function webp(widthPx: number, heightPx: number, picturesHeld: number, mayHaveAlpha: boolean): ImageHeader {
  return {
    form: 'WebP',
    widthPx,
    heightPx,
    rowPixelBytes: 0,
    heldBytes: widthPx * heightPx * WEBP_PIXEL_BYTES * picturesHeld,
    mayHaveAlpha,
  };
}

function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) + view.getUint8(at + 2) * 0x10000;
}

interface Frame {
  readonly isProgressive: boolean;
  readonly at: number;
  readonly componentCount: number;
}

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
/** Start-of-frame markers, without DHT, JPG and DAC, whose values are among them. */
export function isStartOfFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** Frames whose low bits indicate that coefficients are refined over several scans. */
const isProgressiveFrame = (marker: number): boolean => (marker & 0x03) === 2;

/** Markers without a length: TEM and the restart markers. */
export function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/**
 * Walks the segments up to the first scan: only it shows whether all components are interleaved. Bytes between segments are
 * skipped, as decoders skip them.
 */
function readJpeg(view: DataView): HeaderAnswer {
  let frame: Frame | undefined;
  for (let at = 2; at + 4 <= view.byteLength;) {
    const marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff || marker === 0xff) at += 1;
    else if (marker === 0x00) at += 2;
    else if (standsAlone(marker)) at += 2;
    else if (marker === END_OF_IMAGE) return 'none';
    else {
      const next = at + 2 + view.getUint16(at + 2);
      if (next > view.byteLength) return 'more';
      if (isStartOfFrame(marker)) {
        if (next < at + 10) return 'none';
        frame = { isProgressive: isProgressiveFrame(marker), at, componentCount: view.getUint8(at + 9) };
        if (next < at + 10 + frame.componentCount * 3) return 'none';
      }
      if (marker === START_OF_SCAN)
        return frame === undefined || next < at + 5 ? 'none' : jpegHeader(view, frame, view.getUint8(at + 4));
      at = next;
    }
  }
  return 'more';
}

const BLOCK_PX = 8;
/** 64 coefficients of two bytes each. */
const BLOCK_BYTES = 128;

/**
 * If a scan has only some of the components, or refines those of other scans, all coefficients are held until the last
 * scan.
 */
function jpegHeader(
  view: DataView,
  { isProgressive, at, componentCount }: Frame,
  scanComponents: number,
): HeaderAnswer {
  const [heightPx, widthPx] = [view.getUint16(at + 5), view.getUint16(at + 7)];
  const factors = Array.from({ length: componentCount }, (_, index) => view.getUint8(at + 11 + index * 3));
  const across = factors.map((factor) => factor >> 4);
  const down = factors.map((factor) => factor & 0x0f);
  const unitsAcross = Math.ceil(widthPx / (BLOCK_PX * Math.max(1, ...across)));
  const unitsDown = Math.ceil(heightPx / (BLOCK_PX * Math.max(1, ...down)));
  const blocks = unitsAcross * unitsDown * factors.reduce((sum, _, index) => sum + across[index]! * down[index]!, 0);
  const hasSeveralScans = isProgressive || scanComponents < componentCount;
  return {
    form: hasSeveralScans ? 'progressive JPEG' : 'JPEG',
    widthPx,
    heightPx,
    rowPixelBytes: componentCount,
    heldBytes: hasSeveralScans ? blocks * BLOCK_BYTES : 0,
    mayHaveAlpha: false,
  };
}

/**
 * A decoder that yields rows and the code that shrinks them hold this many rows, and never more than each row twice.
 */
const ROWS_HELD = 1_600;

/**
 * The most memory that decoding a picture takes while it is shrunk, in bytes. It follows from the header alone, so that
 * it can be bounded before anything is decoded: the number of pixels is not enough, as a decoder yields most pictures
 * row by row and must hold others completely.
 */
export function decodeBytes({ widthPx, heightPx, rowPixelBytes, heldBytes }: ImageHeader): number {
  return heldBytes + widthPx * rowPixelBytes * Math.min(heightPx * 2, ROWS_HELD);
}

/** The bytes of the alpha channel, which is held while it is searched: two per pixel at most. */
export function alphaBytes({ widthPx, heightPx }: ImageHeader): number {
  return widthPx * heightPx * 2;
}

/**
 * `decodeBytes` for the first bytes of a file: `Infinity` while they do not determine it, 0 for a file that is not a
 * picture.
 */
export function decodeBytesOf(head: Uint8Array): number {
  const header = readImageHeader(head);
  if (header === 'more') return Infinity;
  return header === 'none' ? 0 : decodeBytes(header);
}

const IMAGE_FORMATS = ['png', 'apng', 'jpeg', 'jpg', 'webp'];
const VIDEO_FORMATS = ['mp4', 'h264', 'x264', 'avc', 'avc1', 'av1', 'av01', 'vp9', 'vp09'];
const OTHER_CONTAINERS = 'webm avi msvideo mkv matroska mov quicktime m4v mpg mpeg mpegts flv wmv ogv'.split(' ');
const OTHER_CODECS = 'h265 x265 hevc hvc1 hev1 vvc h266 vp8 vp08 prores ffv1 mjpeg'.split(' ');
const OTHER_IMAGES = 'gif avif heic heif jxl jp2 tif tiff bmp svg pdf psd exr tga ico'.split(' ');
const OTHER_FORMATS = [...OTHER_CONTAINERS, ...OTHER_CODECS, ...OTHER_IMAGES];

/** The formats in which outputs of each kind are delivered. */
const DELIVERED: Readonly<Record<Modality, string>> = {
  image: 'an image is delivered as PNG, JPEG or WebP',
  video: 'a video is delivered as MP4 with H.264, AV1 or VP9',
};

function isDelivered(word: string, modality: Modality | undefined): boolean {
  if (OTHER_FORMATS.includes(word)) return false;
  if (modality === 'image') return !VIDEO_FORMATS.includes(word);
  return modality === undefined || !IMAGE_FORMATS.includes(word);
}

/**
 * Checks a format that a driver's settings name for outputs, and returns one sentence that states the problem.
 * Undefined if outputs can have it, or if the name does not determine it, as with `auto`: then each output shows it. A
 * format is named as people and programs do: `webm`, `.avi`, `video/x-matroska`, `video/mp4; codecs="hvc1"`,
 * `h265-mp4`. Without a modality, only formats that no output can have are refused.
 */
export function formatFault(format: string, modality?: Modality): string | undefined {
  const words = format.toLowerCase().split(/[^a-z0-9]+/);
  if (words.every((word) => isDelivered(word, modality))) return undefined;
  const delivered = modality === undefined ? `${DELIVERED.image}, ${DELIVERED.video}` : DELIVERED[modality];
  return `${JSON.stringify(format)} cannot be delivered: ${delivered}.`;
}
