import type { Json, JsonObject } from '../../../core/json.js';

/** The options of a driver that have a default, as a configuration without them gives them to it. */
export function defaultsOf(schema: JsonObject): JsonObject {
  const properties = schema['properties'] as Readonly<Record<string, { readonly default?: Json }>>;
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { default: byDefault }]) =>
      byDefault === undefined ? [] : [[name, byDefault]],
    ),
  );
}
