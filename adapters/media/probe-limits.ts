import { decodeBytes, type ImageForm, readImageHeader } from '../../core/media/image-header.js';

export type { ProbeLimits } from '../../core/ports/media.js';

/** The answer for bytes that are not what they should be. */
export interface Invalid {
  readonly invalid: string;
}

export const DAMAGED: Invalid = { invalid: 'The file is damaged or incomplete.' };
export const UNREADABLE_VIDEO: Invalid = { invalid: 'The file starts like an MP4 video but cannot be read.' };

/** No picture or video here has a longer side; checked before multiplying. */
const MAX_SIDE_PX = 65_535;

/** The fault of these dimensions, or undefined. Up to `frames` pictures of that size are held at the same time. */
export function sizeFault(widthPx: number, heightPx: number, frames: number, maxPixels: number): Invalid | undefined {
  for (const side of [widthPx, heightPx]) {
    if (!Number.isInteger(side) || side < 1 || side > MAX_SIDE_PX)
      return { invalid: 'The file has no usable width and height.' };
  }
  if (widthPx * heightPx * frames <= maxPixels) return undefined;
  const what = frames === 1 ? `${widthPx}x${heightPx} pixels` : `${frames} frames of ${widthPx}x${heightPx} pixels`;
  return { invalid: `The file has ${what}; at most ${maxPixels} pixels are allowed.` };
}

const MIB = 1024 * 1024;

/** Another way to send the picture, if there is one beside fewer pixels. */
const OTHER_FORM: Readonly<Record<ImageForm, string>> = {
  'PNG': '',
  'JPEG': '',
  'WebP': '',
  'interlaced PNG': ', or a PNG that is not interlaced',
  'progressive JPEG': ', or a JPEG that is not progressive',
};

/** The fault of the memory or time that decoding the picture takes, or undefined. */
export function decodeFault(bytes: Uint8Array, maxDecodeBytes = Infinity): Invalid | undefined {
  const header = readImageHeader(bytes);
  // A decoder that reads a header where we see none is not to be trusted with it.
  if (typeof header === 'string') return DAMAGED;
  const neededBytes = decodeBytes(header);
  if (neededBytes <= maxDecodeBytes) return undefined;
  const { form, widthPx, heightPx } = header;
  const article = /^[AEIOU]/i.test(form) ? 'an' : 'a';
  return {
    invalid:
      `The file is ${article} ${form} of ${widthPx}x${heightPx} pixels, which takes ${Math.ceil(neededBytes / MIB)} MiB to decode; ` +
      `at most ${Math.floor(maxDecodeBytes / MIB)} MiB are allowed: send fewer pixels${OTHER_FORM[form]}.`,
  };
}
