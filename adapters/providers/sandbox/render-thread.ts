import { parentPort } from 'node:worker_threads';
import type { DecodedReference } from './decode-reference.js';
import { Canvas, smoothstep } from './paint/canvas.js';
import { paintScene } from './paint/paint-scene.js';
import { composeScene, type Scene } from './paint/scene.js';
import type { RenderJob, RenderMessage } from './render.js';

/** Entry of a rendering thread, which takes one job at a time. */
parentPort!.on('message', (job: RenderJob) => void paint(job));

async function paint(job: RenderJob): Promise<void> {
  const outputs = job.plan.painter === 'video' ? [await paintVideo(job)] : paintPictures(job);
  const buffers = outputs.map(({ buffer }) => buffer);
  parentPort!.postMessage(outputs satisfies RenderMessage, buffers);
}

function reportProgress(share: number): void {
  parentPort!.postMessage(share satisfies RenderMessage, []);
}

function paintPictures(job: RenderJob): Uint8Array<ArrayBuffer>[] {
  const { plan, references } = job;
  const kept = references.find(({ mask }) => mask !== undefined);
  const backdrop = readBackdrop(job, kept);
  return Array.from({ length: plan.count }, (_, index) => {
    const scene = composeFor(job, backdrop ?? readPicture(job, kept), index);
    const pixels = paintScene(scene, plan.size, 0, 0, backdrop).toBytes(3);
    if (kept !== undefined) keepOpaque(pixels, kept);
    reportProgress((index + 1) / plan.count);
    return pixels;
  });
}

/** The first picture of the same prompt and seed, moving. Start and end frames fade into it and out of it. */
async function paintVideo(job: RenderJob): Promise<Uint8Array<ArrayBuffer>> {
  const { plan, references } = job;
  const { size, framesPerSecond, durationSeconds } = plan;
  const backdrop = readBackdrop(job);
  const start = readPicture(
    job,
    references.find(({ role }) => role === 'start_frame'),
  );
  const end = readPicture(
    job,
    references.find(({ role }) => role === 'end_frame'),
  );
  const scene = composeFor(job, backdrop ?? start ?? end, 0);
  const frameCount = durationSeconds * framesPerSecond;
  const { encodeVideo } = await import('./encode-video.js');
  return encodeVideo(plan, frameCount, (frame) => {
    const progress = frame / Math.max(1, frameCount - 1);
    const canvas = paintScene(scene, size, frame / framesPerSecond, progress, backdrop);
    if (start !== undefined) canvas.blendCanvas(start, () => smoothstep(0.45, 0, progress));
    if (end !== undefined) canvas.blendCanvas(end, () => smoothstep(0.55, 1, progress));
    reportProgress((frame + 1) / (frameCount + 1));
    return canvas.toBytes(4);
  });
}

/** The colours of `picture` tint the scene: the means of its upper, middle and lower third. */
function composeFor(job: RenderJob, picture: Canvas | undefined, index: number): Scene {
  if (picture === undefined) return composeScene(job, index, []);
  const { data, widthPx, heightPx } = picture;
  const third = Math.floor(heightPx / 3) * widthPx * 3;
  const tints = [0, 1, 2].map((part) => {
    const mean: [number, number, number] = [0, 0, 0];
    data.subarray(part * third, (part + 1) * third).forEach((value, at) => (mean[at % 3]! += (value * 3) / third));
    return mean;
  });
  return composeScene(job, index, tints);
}

function readPicture({ plan: { size } }: RenderJob, reference: DecodedReference | undefined): Canvas | undefined {
  if (reference === undefined) return undefined;
  const canvas = new Canvas(size.widthPx, size.heightPx);
  reference.pixels.forEach((value, at) => (canvas.data[at] = value / 255));
  return canvas;
}

/** All reference images but `kept` side by side, with soft seams; undefined when there are none. */
function readBackdrop(job: RenderJob, kept?: DecodedReference): Canvas | undefined {
  const { widthPx } = job.plan.size;
  const images = job.references.filter((reference) => reference.role === 'reference_image' && reference !== kept);
  const soft = widthPx * 0.08;
  const [backdrop, ...others] = images.map((image) => readPicture(job, image)!);
  others.forEach((picture, index) => {
    const seam = ((index + 1) / images.length) * widthPx;
    backdrop!.blendCanvas(picture, (x) => smoothstep(seam - soft, seam + soft, x));
  });
  return backdrop;
}

/** Lays a masked reference over painted bytes: where it is opaque, exactly its colours remain. */
function keepOpaque(painted: Uint8Array, { pixels, mask }: DecodedReference): void {
  for (let at = 0; at < painted.length; at += 1) {
    const share = mask![Math.floor(at / 3)]!;
    painted[at] = Math.round((painted[at]! * share + pixels[at]! * (255 - share)) / 255);
  }
}
