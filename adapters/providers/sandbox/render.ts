import { Worker } from 'node:worker_threads';
import type { DecodedReference } from './decode-reference.js';
import type { Plan } from './plan.js';
import type { Rendered } from './tasks.js';

/** The same job gives the same bytes, in any process. */
export interface RenderJob {
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly plan: Plan;
  readonly references: readonly DecodedReference[];
}

/** From the thread: the progress, 0 to 1, or at the end the pixels of each picture or the file of the video. */
export type RenderMessage = number | readonly Uint8Array<ArrayBuffer>[];

/** The thread has failed, or was stopped. The message is a sentence for the client. */
export class RenderFailed extends Error {}

const ENCODINGS = {
  png: { compressionLevel: 6 },
  jpeg: { quality: 91, chromaSubsampling: '4:4:4' },
  webp: { quality: 90 },
};

/** The rendering threads of a sandbox, started when they are needed. Idle ones do not keep the process alive. */
export class RenderThreads {
  private readonly idle = new Set<Worker>();

  /** Throws `RenderFailed`, also when the signal is aborted: then the thread is ended. */
  async render(job: RenderJob, signal: AbortSignal, onProgress: (share: number) => void): Promise<Rendered[]> {
    const { painter, size, format } = job.plan;
    const painted = await this.paint(job, signal, onProgress);
    if (painter === 'video') return painted.map((bytes) => ({ kind: 'video', mediaType: 'video/mp4', bytes }));
    const raw = { width: size.widthPx, height: size.heightPx, channels: 3 } as const;
    // The first picture loads the library, so that a start takes less time.
    const { sharp } = await import('../../image-library.js');
    const outputs: Rendered[] = [];
    for (const pixels of painted) {
      const bytes = await sharp(pixels, { raw }).toFormat(format, ENCODINGS[format]).toBuffer();
      outputs.push({ kind: 'image', mediaType: `image/${format}`, bytes: new Uint8Array(bytes) });
    }
    return outputs;
  }

  async close(): Promise<void> {
    await Promise.all([...this.idle].map((worker) => worker.terminate()));
  }

  private paint(job: RenderJob, signal: AbortSignal, onProgress: (share: number) => void) {
    return new Promise<readonly Uint8Array[]>((resolve, reject) => {
      const [worker = new Worker(new URL('./render-thread.js', import.meta.url))] = this.idle;
      const stop = (): void => void worker.terminate();
      this.idle.delete(worker);
      worker.removeAllListeners().ref();
      worker.on('message', (message: RenderMessage) => {
        if (typeof message === 'number') return onProgress(message);
        // The thread is being ended: it must not get the next job.
        if (signal.aborted) return;
        signal.removeEventListener('abort', stop);
        worker.unref();
        this.idle.add(worker);
        resolve(message);
      });
      worker.on('error', (error) => {
        process.emitWarning(error);
        reject(new RenderFailed('The sandbox could not render this.'));
      });
      worker.on('exit', () => {
        this.idle.delete(worker);
        reject(new RenderFailed('The sandbox stopped during rendering.'));
      });
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      else worker.postMessage(job, []);
    });
  }
}
