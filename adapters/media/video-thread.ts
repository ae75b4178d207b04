import { type MessagePort, parentPort } from 'node:worker_threads';
import type { MediaFacts } from '../../core/ports/media.js';
import type { KnownParts } from './mp4-outline.js';
import { probeVideo } from './mp4-video.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';

export interface VideoJob {
  readonly known: KnownParts;
  readonly limits: ProbeLimits;
}

/** The thread reports once that it is ready, and then responds to each job. */
export type VideoMessage = 'ready' | MediaFacts | Invalid;

/** A thread that probes videos, one at a time. */
function main(port: MessagePort): void {
  port.on('message', ({ known, limits }: VideoJob) => {
    void probeVideo(known, limits).then((answer) => port.postMessage(answer satisfies VideoMessage));
  });
  port.postMessage('ready' satisfies VideoMessage);
}

if (parentPort !== null) main(parentPort);
