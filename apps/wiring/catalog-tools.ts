import type { SchemaTools } from '../../adapters/catalog-file/catalog-faults.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../adapters/system/check-schema.js';
import type { Config } from '../config/config.js';

/** What a catalog of this installation is checked with: its JSON Schema, and the configured providers. */
export function catalogTools({ providers }: Pick<Config, 'providers'>): SchemaTools {
  const rules = [...providers].map(
    ([name, { driver }]) =>
      [
        name,
        (settings: Parameters<NonNullable<typeof driver.settingsFault>>[0]) => driver.settingsFault?.(settings),
      ] as const,
  );
  return { checkSchema, jsonSchemas: new AjvJsonSchemas(), providers: new Map(rules) };
}
