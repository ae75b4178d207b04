import type { ProviderOutput, ProviderReport } from '../../../core/ports/provider.js';
import type { FailureName } from '../shared/sentences.js';
import { folderOf } from './fill-workflow.js';
import type { ExecutionError, Job, SavedFile } from './job.js';
import type { Plan } from './plan.js';

/** The media types by the extension of a file's name; a file with another extension cannot be delivered. */
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
 * The files that are delivered, node by node. Each must be in the task's own folder: a server that gives the files of another
 * task, from its cache, must not have them delivered.
 */
export function deliverableFiles(token: string, files: readonly SavedFile[]): readonly DeliverableFile[] {
  return files
    .flatMap((file) => {
      const output = DELIVERABLE[extensionOf(file.filename)];
      const place = placeOf(token, file);
      return output === undefined || place === undefined ? [] : [{ ...file, output, place }];
    })
    .toSorted((one, other) => one.place - other.place);
}

/** The report of a job, except for a failed one. `progress` is from 0 to 1. */
export function reportOf(job: Exclude<Job, { state: 'failed' }>, token: string, progress?: number): ProviderReport {
  switch (job.state) {
    case 'queued':
      return { state: 'running' };
    case 'running':
      return {
        state: 'running',
        ...(progress === undefined ? {} : { progress }),
        ...(job.unknownStatus === undefined ? {} : { unknownStatus: job.unknownStatus }),
      };
    case 'completed':
      return { state: 'succeeded', outputs: outputsOf(token, job.files) };
    case 'cancelled':
      return { state: 'cancelled', outputs: outputsOf(token, job.files) };
    case 'unknown':
      return { state: 'unknown' };
  }
}

/** The kind of failure that an error of the server's code is. */
export function failureNameOf(
  { node, exceptionType = '' }: ExecutionError,
  { references }: Pick<Plan, 'references'>,
): FailureName {
  const isAtReference = Object.values(references).some((slots) => slots.some((slot) => slot.node === node));
  if (isAtReference) return 'input invalid';
  return /OutOfMemory/.test(exceptionType) ? 'no capacity' : 'broke';
}

function outputsOf(token: string, files: readonly SavedFile[]): readonly ProviderOutput[] {
  return deliverableFiles(token, files).map(({ output }) => output);
}

/** The number that its name begins with: which of the output nodes has saved it. Undefined outside the task's folder. */
function placeOf(token: string, { filename, subfolder }: SavedFile): number | undefined {
  const place = /^([1-9]\d{0,2})[^\d/\\\0][^/\\\0]*$/.exec(filename)?.[1];
  return place === undefined || subfolder.replaceAll('\\', '/') !== folderOf(token) ? undefined : Number(place);
}

function extensionOf(filename: string): string {
  return /\.([a-z0-9]{1,8})$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
}
