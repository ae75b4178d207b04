import { encodeVideo } from './encode-video.js';
import { drawCaption, setCaption } from './paint/caption.js';
import type { Canvas } from './paint/canvas.js';
import { smoothstep } from './paint/color.js';
import { paintScene } from './paint/paint-scene.js';
import { composeScene } from './paint/scene.js';
import { readBackdrop, readPicture, tintsOf } from './reference-pictures.js';
import type { RenderControl, Rendered, RenderJob } from './render-job.js';

/** The first picture of the same prompt and seed, moving; start and end frames fade into it and out of it. */
export async function renderVideo(
  job: Extract<RenderJob, { kind: 'video' }>,
  control: RenderControl,
): Promise<Rendered> {
  const { size, framesPerSecond } = job;
  const backdrop = readBackdrop(job.references, size);
  const start = readFrame(job, 'start_frame');
  const end = readFrame(job, 'end_frame');
  const scene = composeScene({ ...job, seed: job.seed, index: 0, tints: tintsOf(backdrop ?? start ?? end) });
  const caption = setCaption(job.prompt, size.widthPx, size.heightPx);
  const frameCount = job.durationSeconds * framesPerSecond;
  const paintFrame = (frame: number): Uint8Array => {
    control.check();
    const progress = frameCount === 1 ? 0 : frame / (frameCount - 1);
    const startShare = start === undefined ? 0 : smoothstep(0.45, 0, progress);
    const endShare = end === undefined ? 0 : smoothstep(0.55, 1, progress);
    const canvas = paintScene(scene, { ...size, seconds: frame / framesPerSecond, progress, backdrop });
    if (start !== undefined) canvas.blendCanvas(start, startShare);
    if (end !== undefined) canvas.blendCanvas(end, endShare);
    drawCaption(canvas, caption, 1 - Math.max(startShare, endShare));
    control.progress((frame + 1) / (frameCount + 1));
    return canvas.toBytes(4);
  };
  return {
    kind: 'video',
    mediaType: 'video/mp4',
    bytes: await encodeVideo({ size, framesPerSecond, frameCount, paintFrame }),
  };
}

function readFrame(job: Extract<RenderJob, { kind: 'video' }>, role: 'start_frame' | 'end_frame'): Canvas | undefined {
  const reference = job.references.find((candidate) => candidate.role === role);
  return reference === undefined ? undefined : readPicture(reference, job.size);
}
