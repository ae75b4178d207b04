import type { Json, JsonObject } from '../../../../core/json.js';
import type { Settings } from '../../../../core/settings.js';
import type { RequestBody } from '../operation.js';

/**
 * A request body as its clients are shown it: with the limits of this installation, and null wherever a field may be
 * left out.
 */
export function requestSchema({ schema, limited }: RequestBody, settings: Settings): JsonObject {
  const shown = limited?.(settings) ?? schema;
  const required = shown['required'] as readonly string[] | undefined;
  const properties = Object.entries(shown['properties'] as JsonObject).map(([name, property]): [string, Json] => [
    name,
    required?.includes(name) === true ? property : orNull(property as JsonObject),
  ]);
  return { ...shown, properties: Object.fromEntries(properties) };
}

function orNull(property: JsonObject): JsonObject {
  return { ...property, type: [property['type'] as string, 'null'] };
}
