import type { Driver } from '../../adapters/driver.js';
import type { Json, JsonObject } from '../../core/json.js';
import { keySchemas, optionsOf, PROVIDER_KEYS, SECTION_COMMENTS } from './keys.js';

/**
 * The JSON Schema 2020-12 of darkroom.yaml with these drivers. Options that a chosen driver requires are not required
 * here: a variable may give them.
 */
export function configSchema(drivers: readonly Driver[]): JsonObject {
  const root = sectionSchema();
  for (const [path, schema] of keySchemas(drivers, new Map())) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    const parent = names.reduce(
      (section, name) => (propertiesOf(section)[name] ??= sectionSchema()) as JsonObject,
      root,
    );
    propertiesOf(parent)[last] = nullable(schema);
  }
  propertiesOf(root)['providers'] = {
    description: SECTION_COMMENTS['providers'] ?? '',
    type: ['object', 'null'],
    propertyNames: { pattern: '^[a-z][a-z0-9_-]{0,63}$' },
    additionalProperties: { anyOf: drivers.filter(({ kind }) => kind === 'provider').map(instanceSchema) },
  };
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'darkroom.yaml', ...root };
}

/** An empty section has all its defaults. */
function sectionSchema(): JsonObject {
  return { type: ['object', 'null'], additionalProperties: false, properties: {} };
}

function propertiesOf(section: JsonObject): Record<string, Json> {
  return section['properties'] as JsonObject;
}

function instanceSchema({ name, options }: Driver): JsonObject {
  const limits = Object.entries(PROVIDER_KEYS).map(([key, { schema }]) => [key, schema] as const);
  const all = [...optionsOf(options), ...limits].map(([option, schema]) => [option, nullable(schema)] as const);
  return {
    type: 'object',
    required: ['kind'],
    additionalProperties: false,
    properties: { kind: { const: name }, ...Object.fromEntries(all) },
  };
}

/** A key without a default may be null. */
function nullable(schema: JsonObject): JsonObject {
  const { type, default: byDefault } = schema;
  if (byDefault !== undefined) return { ...schema };
  return typeof type === 'string' ? { ...schema, type: [type, 'null'] } : { anyOf: [schema, { type: 'null' }] };
}
