import { bytesOf } from './bytes.js';
import type { GenerationTask, Output } from './generated/api.js';
import { receiveOutput, type Received } from './receive.js';

/** The verified bytes of an output. */
export interface Downloaded extends Received {
  readonly output: Output;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Downloads every output of a task, in their order. */
export async function downloadOutputs(task: GenerationTask, options: DownloadOptions = {}): Promise<Downloaded[]> {
  const files: Downloaded[] = [];
  for (const output of task.outputs) files.push(await downloadOutput(output, options));
  return files;
}

export function downloadOutput(output: Output, options: DownloadOptions = {}): Promise<Downloaded> {
  const receive = async (bytes: ReadableStream<Uint8Array<ArrayBuffer>>, about: Received) => ({
    ...about,
    output,
    bytes: await bytesOf(bytes, Number.POSITIVE_INFINITY),
  });
  return receiveOutput(output, receive, options);
}
