import type { ProviderFailure, ProviderReport } from '../../../core/ports/provider.js';
import { placesAt } from '../shared/pointer-values.js';
import { outputOf, usableResults, type Result, type ResultFiles } from '../shared/result-files.js';
import { failure } from '../shared/sentences.js';
import { predictionFailure } from './prediction-failure.js';
import type { ReplicateSettings } from './replicate-settings.js';
import { metricsCost } from '../shared/json-members.js';
import { shownStatus, statusMeaning } from '../shared/status-words.js';

/** The used members of a prediction of the API. */
export interface Prediction {
  readonly id: string;
  readonly status: string;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly metrics?: unknown;
}

const ID = /^[a-z0-9]{8,64}$/;

/** A prediction, or undefined where an answer is none. */
export function readPrediction(answer: unknown): Prediction | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const { id, status, output, error, metrics } = answer as Record<string, unknown>;
  if (typeof id !== 'string' || !ID.test(id) || typeof status !== 'string') return undefined;
  return { id, status, output, error, metrics };
}

/** The state of a prediction. One whose status is not known counts as running. */
export function reportOf(prediction: Prediction, settings: ReplicateSettings, files: ResultFiles): ProviderReport {
  const cost = metricsCost(prediction, 'predict_time');
  // The deadline that was sent along passed before it started.
  if (prediction.status === 'aborted') return { state: 'failed', failure: failure('timed out'), ...cost };
  switch (statusMeaning(prediction.status)) {
    case 'running':
      return { state: 'running' };
    case 'succeeded':
      return successOf(prediction, settings, files);
    case 'failed':
      return { state: 'failed', failure: predictionFailure(prediction.error), ...cost };
    case 'cancelled':
      return { state: 'cancelled', outputs: outputsIn(prediction, settings, files), ...cost };
    case undefined:
      return { state: 'running', unknownStatus: shownStatus(prediction.status) };
  }
}

/** The place of the results in a prediction. */
export function placeOfResults({ output }: Prediction, { output: { at } }: ReplicateSettings): string {
  return `/output${at ?? (Array.isArray(output) ? '/*' : '')}`;
}

/** The results that can be delivered, in order. */
export function resultsOf(prediction: Prediction, settings: ReplicateSettings, files: ResultFiles): readonly Result[] {
  return usableResults(files, placesAt(prediction, placeOfResults(prediction, settings)));
}

const UNUSABLE: ProviderFailure = { ...failure('broke'), mayRetry: false };

function successOf(prediction: Prediction, settings: ReplicateSettings, files: ResultFiles): ProviderReport {
  const outputs = outputsIn(prediction, settings, files);
  // Results are removed after an hour, and settings may point elsewhere: asking again changes neither.
  if (outputs.length === 0) return { state: 'failed', failure: UNUSABLE, ...metricsCost(prediction, 'predict_time') };
  return { state: 'succeeded', outputs, ...metricsCost(prediction, 'predict_time') };
}

function outputsIn(prediction: Prediction, settings: ReplicateSettings, files: ResultFiles) {
  return resultsOf(prediction, settings, files).map((result) => outputOf(result, settings.output.media_type));
}
