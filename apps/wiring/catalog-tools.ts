import { dirname } from 'node:path';
import type { ModelShape, SchemaTools } from '../../adapters/catalog-file/catalog-faults.js';
import type { ProviderDriver } from '../../adapters/driver.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../adapters/system/check-schema.js';
import { TOP_LEVEL_DOMAINS } from '../../adapters/system/top-level-domains.js';
import type { JsonObject } from '../../core/json.js';
import type { Config, Configured } from '../config/config.js';

/** The part of a configuration that is needed to check a catalog. Without a role, a model with a missing provider is a fault. */
interface CheckedWith extends Pick<Config, 'catalog'>, Partial<Pick<Config, 'role' | 'worker'>> {
  readonly providers: ReadonlyMap<string, Configured<ProviderDriver>>;
}

/**
 * The means to check a catalog of this installation: its JSON Schema and the configured providers. `catalog` is the
 * absolute path of its file.
 */
export function catalogTools({ providers, catalog, role, worker }: CheckedWith): SchemaTools {
  const catalogFolder = dirname(catalog);
  const rules = [...providers].map(
    ([name, { driver, options }]) =>
      [
        name,
        (settings: JsonObject, model: ModelShape) =>
          driver.settingsFault?.(settings, { options, catalogFolder, ...model }),
      ] as const,
  );
  // A process that accepts requests prices them with the catalog, so it has to have all models.
  const leavesOutOthers = role === 'worker' && worker?.missingProviders === 'ignore';
  return {
    checkSchema,
    jsonSchemas: new AjvJsonSchemas(),
    topLevelDomains: TOP_LEVEL_DOMAINS,
    providers: new Map(rules),
    leavesOutOthers,
  };
}
