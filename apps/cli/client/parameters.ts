import type { Json, JsonObject } from '../../../core/json.js';
import { usageFailure } from '../exit.js';

/**
 * Reads `name=value` pairs as the types the model's input_schema gives them. The server checks the values themselves.
 */
export function readParameters(pairs: readonly string[], inputSchema: JsonObject): JsonObject {
  const properties = (inputSchema['properties'] ?? {}) as JsonObject;
  const parameters = new Map<string, Json>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw usageFailure(`--param must be written as name=value, not ${pair}.`);
    const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema === undefined) {
      throw usageFailure(
        `There is no parameter ${name}; the model takes ${Object.keys(properties).join(', ') || 'none'}.`,
      );
    }
    if (parameters.has(name)) throw usageFailure(`--param ${name} is given twice.`);
    parameters.set(name, readValue(name, text, typesOf(schema)));
  }
  return Object.fromEntries(parameters);
}

function typesOf(schema: Json): readonly Json[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  return [schema['type'] ?? []].flat();
}

function readValue(name: string, text: string, types: readonly Json[]): Json {
  const [only] = types;
  if (types.length !== 1) return readAny(text, types);
  const type = typeof only === 'string' ? only : '';
  switch (type) {
    case 'string':
      return text;
    case 'integer':
    case 'number': {
      const isNumber = type === 'integer' ? /^-?[0-9]+$/ : /^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
      if (!isNumber.test(text)) {
        throw usageFailure(
          `The parameter ${name} must be ${type === 'integer' ? 'an integer' : 'a number'}, not ${text || 'empty'}.`,
        );
      }
      return Number(text);
    }
    case 'boolean': {
      if (text !== 'true' && text !== 'false')
        throw usageFailure(`The parameter ${name} must be true or false, not ${text || 'empty'}.`);
      return text === 'true';
    }
    default: {
      const value = parseJson(text);
      if (value === undefined) throw usageFailure(`The parameter ${name} must be written as JSON.`);
      return value;
    }
  }
}

/** JSON where that gives a value of an allowed type, else the text as it is. */
function readAny(text: string, types: readonly Json[]): Json {
  const value = parseJson(text);
  if (value === undefined) return text;
  const isAllowed =
    types.length === 0 ||
    types.some((type) => type === typeOf(value) || (type === 'integer' && Number.isInteger(value)));
  return isAllowed ? value : text;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
