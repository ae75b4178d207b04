import { dirname } from 'node:path';
import type { ProviderDriver, ProviderOpening } from '../../adapters/driver.js';
import type { Config } from '../config/config.js';

export type ProviderNeeds = Pick<ProviderOpening, 'clock' | 'log' | 'memory'>;

/** Opens one configured instance, without calling its server. Throws one sentence for options that cannot work. */
export function openProvider(
  { providers, dataFolder, catalog }: Pick<Config, 'providers' | 'dataFolder' | 'catalog'>,
  instance: string,
  needs: ProviderNeeds,
): ReturnType<ProviderDriver['open']> {
  const configured = providers.get(instance);
  if (configured === undefined) throw new Error(`There is no provider ${instance}.`);
  const { driver, options } = configured;
  return driver.open({ ...needs, instance, options, dataFolder, catalogFolder: dirname(catalog) });
}
