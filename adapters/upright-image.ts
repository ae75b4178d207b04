import type { Sharp, SharpOptions } from 'sharp';
import { readImageHeader } from '../core/media/image-header.js';
import { sharp } from './image-library.js';
import { UPRIGHT } from './media/cleaning/exif-orientation.js';
import { jpegOrientation } from './media/jpeg-file.js';
import { pngOrientation } from './media/png-file.js';

/**
 * Opens a picture as browsers show it, and as the probe measures it. The decoder alone would also turn a WebP by its EXIF data, and
 * follow EXIF data that browsers take for invalid; where they follow some, it follows the same.
 */
export function openUpright(bytes: Uint8Array, options: SharpOptions): Sharp {
  const image = sharp(bytes, options);
  return isShownUpright(bytes) ? image : image.autoOrient();
}

/** Whether browsers show the pixels as they are stored. */
export function isShownUpright(bytes: Uint8Array): boolean {
  const header = readImageHeader(bytes);
  // They turn no WebP.
  if (typeof header === 'string' || header.form === 'WebP') return true;
  return (header.form.endsWith('PNG') ? pngOrientation(bytes) : jpegOrientation(bytes)) === UPRIGHT;
}
