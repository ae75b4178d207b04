import { parentPort } from 'node:worker_threads';
import {
  RenderAborted,
  type RenderControl,
  type RenderJob,
  type RenderMessage,
  type RenderOutcome,
  type RenderRequest,
} from './render-job.js';
import { renderImages } from './render-images.js';
import { renderVideo } from './render-video.js';

/** Entry of a rendering thread: takes one job at a time, reports progress, answers with one outcome. */
const port = parentPort;
if (port === null) throw new Error('This file is started as a worker thread.');

port.on('message', (request: RenderRequest) => void answer(request));

async function answer({ job, abort }: RenderRequest): Promise<void> {
  const control: RenderControl = {
    progress: (share) => port!.postMessage({ progress: share } satisfies RenderMessage, []),
    check: () => {
      if (Atomics.load(abort, 0) === 1) throw new RenderAborted();
    },
  };
  const outcome = await render(job, control);
  const transfer = outcome.state === 'done' ? outcome.outputs.map((output) => output.bytes.buffer as ArrayBuffer) : [];
  port!.postMessage({ outcome } satisfies RenderMessage, transfer);
}

async function render(job: RenderJob, control: RenderControl): Promise<RenderOutcome> {
  try {
    control.check();
    return {
      state: 'done',
      outputs: job.kind === 'image' ? await renderImages(job, control) : [await renderVideo(job, control)],
    };
  } catch (error) {
    if (error instanceof RenderAborted) return { state: 'aborted' };
    process.emitWarning(error instanceof Error ? error : String(error));
    return {
      state: 'failed',
      failure: { code: 'INTERNAL_ERROR', message: 'The sandbox could not render this.', mayRetry: true },
    };
  }
}
