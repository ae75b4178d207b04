import type { ProviderOutput, ProviderReport } from '../../../core/ports/provider.js';
import { valuesAt } from '../shared/pointer-values.js';
import { isResultAddress, outputAt, type ResultFiles } from '../shared/result-files.js';
import { failure } from '../shared/sentences.js';
import type { FalSettings } from './fal-settings.js';

/** The report of a request that is over. */
export type EndedReport = Exclude<ProviderReport, { readonly state: 'running' | 'unknown' }>;

/** The state of a request whose result has come. */
export function resultReport(result: unknown, settings: FalSettings, files: ResultFiles): EndedReport {
  const addresses = addressesIn(result, settings, files);
  if (addresses !== undefined && addresses.length > 0)
    return { state: 'succeeded', outputs: addresses.map((address) => describe(address, settings)) };
  const isWithheld = addresses !== undefined && foundIn(result, settings).length > 0;
  // The settings may point elsewhere: asking again does not change that.
  return {
    state: 'failed',
    failure: isWithheld ? failure('output refused') : { ...failure('broke'), mayRetry: false },
  };
}

/** The addresses of the results that a filter let pass, in order; undefined if one is none that may be fetched. */
export function addressesIn(result: unknown, settings: FalSettings, files: ResultFiles): readonly string[] | undefined {
  const found = foundIn(result, settings);
  if (!found.every((value): value is string => isResultAddress(files, value))) return undefined;
  const { withheld_at: at } = settings.output;
  const withheld = at === undefined ? [] : valuesAt(result, at);
  return found.filter((_, index) => withheld[index] !== true);
}

function foundIn(result: unknown, { output: { at } }: FalSettings): readonly unknown[] {
  return valuesAt(result, at).filter((value) => value !== null);
}

function describe(address: string, { output: { media_type: type } }: FalSettings): ProviderOutput {
  return outputAt(address, type);
}
