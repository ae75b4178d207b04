import { Canvas } from './paint/canvas.js';
import { smoothstep, type Color } from './paint/color.js';
import type { Size } from './plan.js';
import type { RenderReference } from './render-job.js';

export function readPicture({ pixels }: RenderReference, { widthPx, heightPx }: Size): Canvas {
  return Canvas.fromRgb(widthPx, heightPx, pixels);
}

/** All reference images side by side, running softly into each other; absent when there are none. */
export function readBackdrop(references: readonly RenderReference[], size: Size): Canvas | undefined {
  const images = references.filter((reference) => reference.role === 'reference_image');
  let backdrop: Canvas | undefined;
  for (const [index, image] of images.entries()) {
    const picture = readPicture(image, size);
    if (backdrop === undefined) {
      backdrop = picture;
      continue;
    }
    const seam = (index / images.length) * size.widthPx;
    const soft = size.widthPx * 0.08;
    for (let y = 0; y < size.heightPx; y += 1) {
      for (let x = 0; x < size.widthPx; x += 1) {
        const at = (y * size.widthPx + x) * 3;
        const share = smoothstep(seam - soft, seam + soft, x);
        if (share > 0) backdrop.blend(x, y, [picture.data[at]!, picture.data[at + 1]!, picture.data[at + 2]!], share);
      }
    }
  }
  return backdrop;
}

/** Lays a masked reference over painted bytes, three a pixel: where it is opaque, exactly its colours remain. */
export function keepOpaque(painted: Uint8Array, { pixels, mask }: RenderReference): void {
  if (mask === undefined) return;
  for (let pixel = 0, at = 0; pixel < mask.length; pixel += 1)
    for (const end = at + 3; at < end; at += 1)
      painted[at] = Math.round((painted[at]! * mask[pixel]! + pixels[at]! * (255 - mask[pixel]!)) / 255);
}

/** The mean colours of the upper, middle and lower third: what the rest of the scene is tinted with. */
export function tintsOf(picture: Canvas | undefined): Color[] {
  if (picture === undefined) return [];
  return [0, 1, 2].map((third) => {
    const from = Math.floor((picture.heightPx * third) / 3) * picture.widthPx * 3;
    const to = Math.floor((picture.heightPx * (third + 1)) / 3) * picture.widthPx * 3;
    const sums: [number, number, number] = [0, 0, 0];
    for (let at = from; at < to; at += 3)
      for (let channel = 0; channel < 3; channel += 1) sums[channel]! += picture.data[at + channel]!;
    const count = (to - from) / 3;
    return [sums[0] / count, sums[1] / count, sums[2] / count] as const;
  });
}
