import * as fs from 'node:fs';
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { runSmallFileJobs, type SmallFileJob, type SmallFileResult } from './small-files.js';

/** A thread that reads and writes small files: all jobs that wait are done together. */
function main(port: MessagePort): void {
  port.on('message', (first: readonly SmallFileJob[]) => {
    const results = runSmallFileJobs(fs, first.concat(...waiting(port)));
    const read = results.flatMap((result) => (result instanceof Uint8Array ? [result.buffer as ArrayBuffer] : []));
    port.postMessage(results satisfies SmallFileResult[], read);
  });
}

function waiting(port: MessagePort): (readonly SmallFileJob[])[] {
  const messages: (readonly SmallFileJob[])[] = [];
  for (;;) {
    const next: { readonly message: readonly SmallFileJob[] } | undefined = receiveMessageOnPort(port);
    if (next === undefined) return messages;
    messages.push(next.message);
  }
}

if (parentPort !== null) main(parentPort);
