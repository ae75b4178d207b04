import sharp from 'sharp';

/** The pixels of a file as it is stored, without a rotation: four values each. */
interface Pixels {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: number;
  readonly rgba: Uint8Array;
}

/** The server's reading of the picture and the mask that it received. */
export interface ReadMask {
  readonly widthPx: number;
  readonly heightPx: number;
  /** The repainted share of a pixel, from 0 to 1. */
  readonly anewAt: (x: number, y: number) => number;
  /** The colours that the server begins with. */
  readonly colourAt: (x: number, y: number) => readonly number[];
}

/** A request that the server would refuse, or whose mask it would not use as one. */
export class MaskUnusable extends Error {}

async function pixelsOf(file: Uint8Array): Promise<Pixels> {
  const { channels } = await sharp(file).metadata();
  const { data, info } = await sharp(file)
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { widthPx: info.width, heightPx: info.height, channels, rgba: data };
}

function readMask(picture: Pixels, mask: Pixels, shareOf: (rgba: readonly number[]) => number): ReadMask {
  const { widthPx, heightPx } = picture;
  if (mask.widthPx !== widthPx || mask.heightPx !== heightPx)
    throw new MaskUnusable('The mask has another size than the picture.');
  const at = ({ rgba }: Pixels, x: number, y: number) => {
    const from = (y * widthPx + x) * 4;
    return [...rgba.subarray(from, from + 4)];
  };
  return {
    widthPx,
    heightPx,
    anewAt: (x, y) => shareOf(at(mask, x, y)),
    colourAt: (x, y) => at(picture, x, y).slice(0, 3),
  };
}

function luminance([red = 0, green = 0, blue = 0]: readonly number[]): number {
  return (77 * red + 150 * green + 29 * blue) >> 8;
}

/** OpenAI edits where the mask is fully transparent. Its documentation asks for a PNG of less than 4 MB with an alpha channel. */
export async function readByOpenAi(picture: Uint8Array, mask: Uint8Array): Promise<ReadMask> {
  const colourType = mask[25];
  if (Buffer.from(mask).toString('latin1', 1, 4) !== 'PNG') throw new MaskUnusable('The mask is not a PNG.');
  if (mask.byteLength >= 4_000_000) throw new MaskUnusable('The mask has 4 MB or more.');
  if (colourType !== 4 && colourType !== 6) throw new MaskUnusable('The mask has no alpha channel.');
  return readMask(await pixelsOf(picture), await pixelsOf(mask), ([, , , alpha]) => (alpha === 0 ? 1 : 0));
}

/** sd-server reads the mask as one channel of luminance, whatever its alpha is, and rounds it. The picture's alpha is dropped. */
export async function readBySdServer(picture: Uint8Array, mask: Uint8Array): Promise<ReadMask> {
  return readMask(await pixelsOf(picture), await pixelsOf(mask), (rgba) => Math.round(luminance(rgba) / 255));
}

/**
 * The web UI uses the alpha channel of a mask that has one, where it is opaque; of any other mask the luminance. A picture with
 * an alpha channel is laid over a background.
 */
export async function readByWebUi(picture: Uint8Array, mask: Uint8Array, isInverted: boolean): Promise<ReadMask> {
  const [colours, of] = [await pixelsOf(picture), await pixelsOf(mask)];
  if (colours.channels === 4) throw new MaskUnusable('The transparent areas of the picture become white.');
  const share = (rgba: readonly number[]): number =>
    of.channels === 4 ? (rgba[3]! > 128 ? 1 : 0) : luminance(rgba) / 255;
  return readMask(colours, of, (rgba) => (isInverted ? 1 - share(rgba) : share(rgba)));
}

/** `LoadImage` turns a picture upright and drops its alpha channel; its mask is 1 - alpha, and nothing where there is no such channel. */
export async function readByLoadImage(file: Uint8Array): Promise<ReadMask> {
  const isPng = Buffer.from(file).toString('latin1', 1, 4) === 'PNG';
  // Old releases see the transparency of a palette or of one colour only where the pixels have a channel for it.
  if (isPng && file[25] !== 4 && file[25] !== 6) throw new MaskUnusable('The picture has no alpha channel.');
  const upright = await pixelsOf(await sharp(file).autoOrient().png().toBuffer());
  return readMask(upright, upright, ([, , , alpha]) => 1 - alpha! / 255);
}

/** `LoadImageMask` gives one channel; only `alpha` is inverted. */
export async function readByLoadImageMask(file: Uint8Array, channel: 'alpha' | 'red'): Promise<ReadMask> {
  const pixels = await pixelsOf(file);
  return readMask(pixels, pixels, ([red, , , alpha]) => (channel === 'red' ? red! / 255 : 1 - alpha! / 255));
}
