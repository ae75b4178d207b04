import type { ProviderReport } from '../../../core/ports/provider.js';
import { placesAt, valuesAt } from '../shared/pointer-values.js';
import { policyRefusalIn } from '../shared/policy-codes.js';
import { outputOf, usableResults, type Result, type ResultFiles } from '../shared/result-files.js';
import { failure } from '../shared/sentences.js';
import type { FalSettings } from './fal-settings.js';

/** The report of a request that is over. */
export type EndedReport = Exclude<ProviderReport, { readonly state: 'running' | 'unknown' }>;

/** The state of a request whose result has come. */
export function resultReport(result: unknown, settings: FalSettings, files: ResultFiles): EndedReport {
  const results = resultsIn(result, settings, files);
  const { media_type: otherwise } = settings.output;
  if (results.length > 0) return { state: 'succeeded', outputs: results.map((one) => outputOf(one, otherwise)) };
  const isWithheld = withheldIn(result, settings).includes(true);
  const refused = isWithheld ? 'output refused' : policyRefusalIn(result, 200);
  // The settings may point elsewhere: asking again does not change that.
  return {
    state: 'failed',
    failure: refused === undefined ? { ...failure('broke'), mayRetry: false } : failure(refused),
  };
}

/** The results that a filter let pass and that can be delivered, in order. */
export function resultsIn(result: unknown, settings: FalSettings, files: ResultFiles): readonly Result[] {
  const withheld = withheldIn(result, settings);
  const passed = placesAt(result, settings.output.at).filter((_, index) => withheld[index] !== true);
  return usableResults(files, passed);
}

function withheldIn(result: unknown, { output: { withheld_at: at } }: FalSettings): readonly unknown[] {
  return at === undefined ? [] : valuesAt(result, at);
}
