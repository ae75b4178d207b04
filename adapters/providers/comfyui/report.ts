import type { ProviderOutput, ProviderReport } from '../../../core/ports/provider.js';
import { failure } from '../shared/sentences.js';
import { folderOf } from './fill-workflow.js';
import type { ExecutionError, Job, SavedFile } from './job.js';
import type { Plan } from './plan.js';

/** By the extension of a file's name; what has another one cannot be delivered. */
const DELIVERABLE: Readonly<Record<string, ProviderOutput>> = {
  png: { kind: 'image', mediaType: 'image/png' },
  jpg: { kind: 'image', mediaType: 'image/jpeg' },
  jpeg: { kind: 'image', mediaType: 'image/jpeg' },
  webp: { kind: 'image', mediaType: 'image/webp' },
  mp4: { kind: 'video', mediaType: 'video/mp4' },
};

/** A file of a task that can be delivered. */
export interface DeliverableFile extends SavedFile {
  readonly output: ProviderOutput;
}

/**
 * The files of the plan's output nodes, node by node. Each must be in the task's own folder: a server that gives the
 * files of another task, from its cache, must not have them delivered.
 */
export function deliverableFiles(
  plan: Pick<Plan, 'outputs'>,
  token: string,
  files: readonly SavedFile[],
): readonly DeliverableFile[] {
  return plan.outputs.flatMap(({ node }) =>
    files.flatMap((file) => {
      const output = DELIVERABLE[extensionOf(file.filename)];
      return file.node === node && output !== undefined && isOwnFile(token, file) ? [{ ...file, output }] : [];
    }),
  );
}

/** What is told of a job. `progress` is from 0 to 1. */
export function reportOf(job: Job, plan: Plan, token: string, progress?: number): ProviderReport {
  switch (job.state) {
    case 'queued':
      return { state: 'running' };
    case 'running':
      return { state: 'running', ...(progress === undefined ? {} : { progress }) };
    case 'completed':
      return { state: 'succeeded', outputs: outputsOf(plan, token, job.files) };
    case 'cancelled':
      return { state: 'cancelled', outputs: outputsOf(plan, token, job.files) };
    case 'failed':
      return { state: 'failed', failure: failure(failureNameOf(job.error, plan)) };
    case 'unknown':
      return { state: 'unknown' };
  }
}

/** Which kind of failure an error of the server's code is. */
export function failureNameOf({ node, exceptionType = '' }: ExecutionError, { references }: Pick<Plan, 'references'>) {
  const isAtReference = Object.values(references).some((slots) => slots.some((slot) => slot.node === node));
  if (isAtReference) return 'input invalid';
  return /OutOfMemory/.test(exceptionType) ? 'no capacity' : 'broke';
}

function outputsOf(plan: Plan, token: string, files: readonly SavedFile[]): readonly ProviderOutput[] {
  return deliverableFiles(plan, token, files).map(({ output }) => output);
}

function isOwnFile(token: string, { filename, subfolder }: SavedFile): boolean {
  const path = `${subfolder}/${filename}`.replaceAll('\\', '/');
  return path.startsWith(`${folderOf(token)}/`) && !path.split('/').includes('..') && !path.includes('\0');
}

function extensionOf(filename: string): string {
  return /\.([a-z0-9]{1,8})$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
}
