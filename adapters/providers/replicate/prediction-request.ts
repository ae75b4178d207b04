import type { Json, JsonObject } from '../../../core/json.js';
import type { ProviderCall, Submission } from '../../../core/ports/provider.js';
import type { Connection } from '../shared/connection.js';
import { dataUrlOf } from '../shared/data-url.js';
import { inputOf } from '../shared/task-input.js';
import type { ReplicateSettings } from './replicate-settings.js';
import { uploadFile } from './upload-file.js';

export interface PredictionRequest {
  /** Of the path below the base address. */
  readonly segments: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** Replicate advises data URLs up to this size; larger files are uploaded first. */
const MAX_DATA_URL_BYTES = 256 * 1024;

/** The shortest and the longest deadline that is sent, in seconds. */
const [LEAST_SECONDS, MOST_SECONDS] = [5, 24 * 60 * 60];

/**
 * The request that runs a task. Larger reference files are uploaded for it. Throws `ParameterInvalid`,
 * `ReferenceUnmapped` and `UploadRefused`; nothing was submitted then.
 */
export async function predictionRequest(
  connection: Connection,
  settings: ReplicateSettings,
  submission: Submission,
  call: ProviderCall,
): Promise<PredictionRequest> {
  const input: Json = await inputOf(settings, submission, (reference) =>
    reference.byteSize <= MAX_DATA_URL_BYTES ? dataUrlOf(reference) : uploadFile(connection, reference, call),
  );
  const { version } = settings;
  return {
    segments: pathOf(settings),
    headers: { 'cancel-after': `${deadlineSeconds(submission.timeLeftMs)}s` },
    body: version === undefined ? { input } : { version, input },
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
