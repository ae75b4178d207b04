import { Worker } from 'node:worker_threads';
import PQueue from 'p-queue';
import type { MediaFacts } from '../../core/ports/media.js';
import type { KnownParts } from './mp4-outline.js';
import { type Invalid, type ProbeLimits, UNREADABLE_VIDEO } from './probe-limits.js';
import type { VideoJob, VideoMessage } from './video-thread.js';

export interface VideoProberOptions {
  /** The most memory that the thread may take, in MiB; 512 when absent, which is more than any video takes that is accepted. */
  readonly maxHeapMib?: number;
  /** For how long the thread may be busy with one video, in milliseconds; 60,000 when absent. Time in which it waits does not count. */
  readonly maxBusyMs?: number;
  /** The work of the thread. */
  readonly module?: URL;
}

const THREAD = new URL('./video-thread.js', import.meta.url);
/** For how long a thread may be busy before it is ready for its first video, in milliseconds. */
const MAX_START_MS = 60_000;
/** How often it is looked at how long a thread has been busy. */
const LOOK_EVERY_MS = 500;

/**
 * Probes videos in a thread of its own, one at a time. A video that makes the demuxer take more memory or time than any valid one
 * ends the thread alone, and is one that cannot be read. The thread starts with the first video, and keeps no process alive.
 */
export class VideoProber {
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #maxHeapMib: number;
  readonly #maxBusyMs: number;
  readonly #module: URL;
  #thread: VideoThread | undefined;

  constructor({ maxHeapMib = 512, maxBusyMs = 60_000, module = THREAD }: VideoProberOptions = {}) {
    this.#module = module;
    this.#maxHeapMib = maxHeapMib;
    this.#maxBusyMs = maxBusyMs;
  }

  /** Throws where the thread cannot start, which says nothing about the video. */
  async probe(known: KnownParts, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
    return this.#queue.add(async () => {
      const thread = (this.#thread ??= new VideoThread(
        this.#module,
        this.#maxHeapMib,
        () => (this.#thread = undefined),
      ));
      return thread.run({ known, limits }, this.#maxBusyMs);
    });
  }
}

class VideoThread {
  readonly #worker: Worker;
  #failure: unknown;
  /** How long it was busy until it was ready, in milliseconds. From then on, what ends the thread is the video that it probes. */
  #startMs: number | undefined;
  #settle:
    | { readonly resolve: (answer: MediaFacts | Invalid) => void; readonly reject: (error: unknown) => void }
    | undefined;

  /** Calls `ended` when the thread has ended, which it does by a failure only. */
  constructor(module: URL, maxHeapMib: number, ended: () => void) {
    this.#worker = new Worker(module, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMib } });
    this.#worker.unref();
    this.#worker.on('message', (message: VideoMessage) => {
      if (message === 'ready') this.#startMs = this.#busyMs();
      else this.#settle?.resolve(message);
    });
    this.#worker.on('error', (error) => (this.#failure = error));
    this.#worker.once('exit', () => {
      ended();
      if (this.#startMs !== undefined) this.#settle?.resolve(UNREADABLE_VIDEO);
      else this.#settle?.reject(new Error('The thread that probes videos cannot start.', { cause: this.#failure }));
    });
  }

  /** Runs one job; the next may be given once this has answered. */
  async run(job: VideoJob, maxBusyMs: number): Promise<MediaFacts | Invalid> {
    let [busyMs, seenMs] = [0, this.#busyMs()];
    const looks = setInterval(() => {
      const nowMs = this.#busyMs();
      if (this.#startMs === undefined) {
        if (nowMs > MAX_START_MS) void this.#worker.terminate();
        return;
      }
      // A process that was stopped was not busy, and no video makes the start of its thread longer.
      busyMs += Math.min(nowMs - Math.max(seenMs, this.#startMs), 2 * LOOK_EVERY_MS);
      seenMs = nowMs;
      if (busyMs > maxBusyMs) void this.#worker.terminate();
    }, LOOK_EVERY_MS);
    this.#worker.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#settle = { resolve, reject };
        this.#worker.postMessage(job, []);
      });
    } finally {
      clearInterval(looks);
      this.#settle = undefined;
      this.#worker.unref();
    }
  }

  #busyMs(): number {
    return this.#worker.performance.eventLoopUtilization().active;
  }
}
