import type { ProviderCall, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { Base64File, type BodyFile } from '../../http/http-request.js';
import type { Connection } from '../shared/connection.js';
import type { Splits } from '../shared/split-references.js';
import { taskInput } from '../shared/task-input.js';
import type { ReplicateSettings } from './replicate-settings.js';
import { uploadFile } from './upload-file.js';

export interface PredictionRequest {
  /** The limit for the path below the base address. */
  readonly segments: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Files may stand in it. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** The model that a prediction is made by, and how its files are got ready. */
interface PredictionOf {
  readonly connection: Connection;
  readonly settings: ReplicateSettings;
  readonly splits: Splits;
}

/** Replicate advises data URLs up to this size; larger files are uploaded first. */
const MAX_DATA_URL_BYTES = 256 * 1024;

/** The shortest and the longest deadline that is sent, in seconds. */
const [LEAST_SECONDS, MOST_SECONDS] = [5, 24 * 60 * 60];

/**
 * The request that runs a task, or the refusal of one that cannot be sent. Larger reference files are uploaded for it.
 * Throws `UploadRefused`; nothing was submitted then.
 */
export async function predictionRequest(
  { connection, settings, splits }: PredictionOf,
  submission: Submission,
  call: ProviderCall,
): Promise<PredictionRequest | SubmitAnswer> {
  const valueOf = async (file: BodyFile) =>
    file.byteSize <= MAX_DATA_URL_BYTES ? new Base64File(file, 'data-url') : uploadFile(connection, file, call);
  const mapped = await taskInput(settings, submission, valueOf, splits);
  if ('refused' in mapped) return mapped.refused;
  const { version } = settings;
  return {
    segments: pathOf(settings),
    headers: { 'cancel-after': `${deadlineSeconds(submission.timeLeftMs)}s` },
    body: version === undefined ? mapped : { version, ...mapped },
  };
}

function pathOf({ model, version, deployment }: ReplicateSettings): readonly string[] {
  if (deployment !== undefined) return ['deployments', ...deployment.split('/'), 'predictions'];
  if (version !== undefined || model === undefined) return ['predictions'];
  return ['models', ...model.split('/'), 'predictions'];
}

function deadlineSeconds(timeLeftMs: number): number {
  return Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, Math.floor(timeLeftMs / 1_000)));
}
