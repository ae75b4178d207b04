import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Driver } from '../../adapters/driver.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { ConfigKey } from './config-key.js';
import { configKeys, keyComments, optionsOf } from './config-keys.js';
import { LIMIT_OPTIONS } from './provider-limits.js';

const EXAMPLE = fileURLToPath(new URL('../../../config/darkroom.example.yaml', import.meta.url));

/**
 * The JSON Schema 2020-12 of darkroom.yaml with these drivers. What a driver does not describe itself is described as
 * the example file does. Options that a chosen driver requires are not required here: a variable may give them.
 */
export function configSchema(drivers: readonly Driver[]): JsonObject {
  const comments = keyComments(readFileSync(EXAMPLE, 'utf8'));
  const root = sectionSchema();
  for (const [path, key] of configKeys(drivers, new Map())) {
    const names = path.split('.');
    const sections = names.slice(0, -1);
    const parent = sections.reduce((section, name) => below(section, name), root);
    propertiesOf(parent)[names.at(-1) ?? ''] = described(leafSchema(key), comments.get(path));
  }
  propertiesOf(root)['providers'] = described(
    {
      type: ['object', 'null'],
      propertyNames: { pattern: '^[a-z][a-z0-9_-]{0,63}$' },
      additionalProperties: { anyOf: drivers.filter(({ kind }) => kind === 'provider').map(instanceSchema) },
    },
    comments.get('providers'),
  );
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'darkroom.yaml', ...root };
}

function instanceSchema({ name, options }: Driver): JsonObject {
  const all = [...optionsOf(options), ...Object.entries(LIMIT_OPTIONS)];
  const own = all.map(([option, schema]) => [option, nullable(schema)] as const);
  return {
    type: 'object',
    required: ['kind'],
    additionalProperties: false,
    properties: { kind: { const: name }, ...Object.fromEntries(own) },
  };
}

/** An empty section is one with all its defaults. */
function sectionSchema(): JsonObject {
  return { type: ['object', 'null'], additionalProperties: false, properties: {} };
}

function below(section: JsonObject, name: string): JsonObject {
  const properties = propertiesOf(section);
  const known = properties[name] as JsonObject | undefined;
  if (known !== undefined) return known;
  const made = sectionSchema();
  properties[name] = made;
  return made;
}

function propertiesOf(section: JsonObject): Record<string, Json> {
  return section['properties'] as JsonObject;
}

function leafSchema({ schema }: ConfigKey<unknown>): JsonObject {
  return nullable(schema);
}

/** What has no default may be left out by null. */
function nullable(schema: JsonObject): JsonObject {
  const { type, default: byDefault } = schema;
  if (byDefault !== undefined) return { ...schema };
  return typeof type === 'string' ? { ...schema, type: [type, 'null'] } : { anyOf: [schema, { type: 'null' }] };
}

function described(schema: JsonObject, comment: string | undefined): JsonObject {
  return comment === undefined || schema['description'] !== undefined ? schema : { description: comment, ...schema };
}
