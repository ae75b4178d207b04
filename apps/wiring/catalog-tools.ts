import { dirname } from 'node:path';
import type { SchemaTools } from '../../adapters/catalog-file/catalog-faults.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../adapters/system/check-schema.js';
import type { Modality } from '../../core/generation/generation.js';
import type { JsonObject } from '../../core/json.js';
import type { Config } from '../config/config.js';

/**
 * What a catalog of this installation is checked with: its JSON Schema, and the configured providers. `catalog` is the
 * absolute path of its file.
 */
export function catalogTools({ providers, catalog }: Pick<Config, 'providers' | 'catalog'>): SchemaTools {
  const catalogFolder = dirname(catalog);
  const rules = [...providers].map(
    ([name, { driver, options }]) =>
      [
        name,
        (settings: JsonObject, modality: Modality) =>
          driver.settingsFault?.(settings, { options, catalogFolder, modality }),
      ] as const,
  );
  return { checkSchema, jsonSchemas: new AjvJsonSchemas(), providers: new Map(rules) };
}
