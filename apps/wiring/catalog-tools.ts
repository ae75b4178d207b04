import type { SchemaTools } from '../../adapters/catalog-file/catalog-faults.js';
import { settingsFault } from '../../adapters/providers/sandbox/plan.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../adapters/system/check-schema.js';

/** What a catalog of this program is checked with: its JSON Schema, and the providers it connects. */
export function catalogTools(): SchemaTools {
  return { checkSchema, jsonSchemas: new AjvJsonSchemas(), providers: new Map([['sandbox', settingsFault]]) };
}
