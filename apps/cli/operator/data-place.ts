import type { Config } from '../../config/config.js';
import { placeOf } from '../../stores/open-database.js';

/**
 * Where an installation's accounts and generations are, for a person and for a script. Never shows an address's
 * password.
 */
export function dataPlace(config: Config): { readonly text: string; readonly json: Readonly<Record<string, string>> } {
  const { text, facts } = placeOf(config);
  // Another folder was most often meant, with the configuration elsewhere.
  const isUnconfigured = config.stores.database.driver.isInDataFolder === true && config.file === undefined;
  return { text: `${text}${isUnconfigured ? ' (no configuration file was found)' : ''}`, json: facts };
}
