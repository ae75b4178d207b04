import type { ProviderReport } from '../../../core/ports/provider.js';
import { valuesAt } from '../shared/pointer-values.js';
import { outputAt, usableAddresses, type ResultFiles } from '../shared/result-files.js';
import { failure } from '../shared/sentences.js';
import type { FalSettings } from './fal-settings.js';

/** The report of a request that is over. */
export type EndedReport = Exclude<ProviderReport, { readonly state: 'running' | 'unknown' }>;

/** The state of a request whose result has come. */
export function resultReport(result: unknown, settings: FalSettings, files: ResultFiles): EndedReport {
  const addresses = addressesIn(result, settings, files);
  const { media_type: otherwise } = settings.output;
  if (addresses.length > 0)
    return { state: 'succeeded', outputs: addresses.map((address) => outputAt(address, otherwise)) };
  const isWithheld = withheldIn(result, settings).includes(true);
  // The settings may point elsewhere: asking again does not change that.
  return {
    state: 'failed',
    failure: isWithheld ? failure('output refused') : { ...failure('broke'), mayRetry: false },
  };
}

/** The addresses of the results that a filter let pass and that can be delivered, in order. */
export function addressesIn(result: unknown, settings: FalSettings, files: ResultFiles): readonly string[] {
  const withheld = withheldIn(result, settings);
  const passed = valuesAt(result, settings.output.at).filter((_, index) => withheld[index] !== true);
  return usableAddresses(files, passed);
}

function withheldIn(result: unknown, { output: { withheld_at: at } }: FalSettings): readonly unknown[] {
  return at === undefined ? [] : valuesAt(result, at);
}
