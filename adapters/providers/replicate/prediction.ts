import type { ProviderFailure, ProviderReport } from '../../../core/ports/provider.js';
import { valuesAt } from '../shared/pointer-values.js';
import { outputAt, usableAddresses, type ResultFiles } from '../shared/result-files.js';
import { failure } from '../shared/sentences.js';
import { predictionFailure } from './prediction-failure.js';
import type { ReplicateSettings } from './replicate-settings.js';
import { metricsCost } from '../shared/json-members.js';

/** What is used of a prediction as the API answers it. */
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

/** The state of a prediction; undefined for a status that is not documented. */
export function reportOf(
  prediction: Prediction,
  settings: ReplicateSettings,
  files: ResultFiles,
): ProviderReport | undefined {
  const cost = metricsCost(prediction, 'predict_time');
  switch (prediction.status) {
    case 'starting':
    case 'processing':
      return { state: 'running' };
    case 'succeeded':
      return successOf(prediction, settings, files);
    case 'failed':
      return { state: 'failed', failure: predictionFailure(prediction.error), ...cost };
    case 'canceled':
      return { state: 'cancelled', outputs: outputsOf(prediction, settings, files), ...cost };
    // The deadline that was sent along has passed before it was begun.
    case 'aborted':
      return { state: 'failed', failure: failure('timed out'), ...cost };
    default:
      return undefined;
  }
}

/** The addresses of the results that can be delivered, in order. */
export function addressesOf(
  { output }: Prediction,
  { output: { at } }: ReplicateSettings,
  files: ResultFiles,
): readonly string[] {
  return usableAddresses(files, valuesAt(output, at ?? (Array.isArray(output) ? '/*' : '')));
}

const UNUSABLE: ProviderFailure = { ...failure('broke'), mayRetry: false };

function successOf(prediction: Prediction, settings: ReplicateSettings, files: ResultFiles): ProviderReport {
  const outputs = outputsOf(prediction, settings, files);
  // Results are removed after an hour, and settings may point elsewhere: asking again changes neither.
  if (outputs.length === 0) return { state: 'failed', failure: UNUSABLE, ...metricsCost(prediction, 'predict_time') };
  return { state: 'succeeded', outputs, ...metricsCost(prediction, 'predict_time') };
}

function outputsOf(prediction: Prediction, settings: ReplicateSettings, files: ResultFiles) {
  return addressesOf(prediction, settings, files).map((address) => outputAt(address, settings.output.media_type));
}
