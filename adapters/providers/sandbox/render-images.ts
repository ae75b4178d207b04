import { sharp } from '../../image-library.js';
import { drawCaption, setCaption } from './paint/caption.js';
import type { Canvas } from './paint/canvas.js';
import { paintScene } from './paint/paint-scene.js';
import { composeScene } from './paint/scene.js';
import type { ImageFormat } from './plan.js';
import { keepOpaque, readBackdrop, readPicture, tintsOf } from './reference-pictures.js';
import type { RenderControl, Rendered, RenderJob, RenderReference } from './render-job.js';

export async function renderImages(
  job: Extract<RenderJob, { kind: 'image' }>,
  control: RenderControl,
): Promise<Rendered[]> {
  const kept = job.references.find(({ mask }) => mask !== undefined);
  const others = job.references.filter((reference) => reference !== kept);
  const backdrop = readBackdrop(others, job.size);
  const tints = tintsOf(backdrop ?? (kept && readPicture(kept, job.size)));
  const caption = setCaption(job.prompt, job.size.widthPx, job.size.heightPx);
  const outputs: Rendered[] = [];
  for (let index = 0; index < job.count; index += 1) {
    control.check();
    const scene = composeScene({ ...job, seed: job.seed, index, tints });
    const canvas = paintScene(scene, { ...job.size, seconds: 0, progress: 0, backdrop });
    drawCaption(canvas, caption);
    control.check();
    control.progress((index + 0.7) / job.count);
    outputs.push({ kind: 'image', mediaType: `image/${job.format}`, bytes: await encode(canvas, kept, job.format) });
    control.progress((index + 1) / job.count);
  }
  return outputs;
}

async function encode(canvas: Canvas, kept: RenderReference | undefined, format: ImageFormat): Promise<Uint8Array> {
  const pixels = canvas.toBytes(3);
  if (kept !== undefined) keepOpaque(pixels, kept);
  const image = sharp(pixels, { raw: { width: canvas.widthPx, height: canvas.heightPx, channels: 3 } });
  switch (format) {
    case 'png':
      return new Uint8Array(await image.png({ compressionLevel: 6 }).toBuffer());
    case 'jpeg':
      return new Uint8Array(await image.jpeg({ quality: 91, chromaSubsampling: '4:4:4' }).toBuffer());
    case 'webp':
      return new Uint8Array(await image.webp({ quality: 90 }).toBuffer());
  }
}
