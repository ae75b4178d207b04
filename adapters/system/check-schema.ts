import { escapePointerToken, type Json, pathOf, tokensOf } from '../../core/json.js';
import type { Fault } from '../../core/ports/machine.js';
import { compileSchema, copyJson, FORMAT_NAMES, metaSchema, NestedTooDeep, orderedFaults } from './ajv-json-schemas.js';

/**
 * The faults of a schema itself; empty if `AjvJsonSchemas` can compile it. The faults point into the schema. It must
 * conform to the 2020-12 meta-schema, use only its keywords and the formats we check, and must not contain references
 * to other documents.
 */
export function checkSchema(schema: Json): readonly Fault[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return [invalid('', 'the schema must be an object')];
  try {
    copyJson(schema);
  } catch (error) {
    if (error instanceof NestedTooDeep) return [invalid('', error.message)];
    throw error;
  }
  const { validate, keywords } = metaSchema();
  if (!validate(schema)) return orderedFaults(validate.errors ?? [], schema);
  const unusable = [...unusableWords(schema, '', keywords)];
  if (unusable.length > 0) return unusable;
  try {
    compileSchema(schema);
    return [];
  } catch (error) {
    return [invalid('', `the schema cannot be compiled: ${error instanceof Error ? error.message : String(error)}`)];
  }
}

function invalid(pointer: string, message: string): Fault {
  return {
    kind: 'invalid',
    pointer,
    field: pathOf(tokensOf(pointer)),
    message: /[.]$/.test(message) ? message : `${message}.`,
  };
}

function isPattern(text: Json): boolean {
  try {
    return typeof text === 'string' && new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/**
 * Faults that the meta-schema accepts and the validator rejects: a misspelt keyword, a format we do not check, a
 * broken pattern.
 */
function* unusableWords(schema: Json, pointer: string, keywords: ReadonlyMap<string, Json>): Generator<Fault> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
  for (const pattern of Object.keys(schema['patternProperties'] ?? {})) {
    const at = `${pointer}/patternProperties/${escapePointerToken(pattern)}`;
    if (!isPattern(pattern)) yield invalid(at, 'the name must be a valid regular expression');
  }
  for (const [keyword, value] of Object.entries(schema)) {
    const at = `${pointer}/${escapePointerToken(keyword)}`;
    const holds = schemasIn(keywords.get(keyword));
    // The vocabularies are for meta-schemas alone.
    if (holds === undefined || keyword === '$vocabulary')
      yield invalid(at, `${keyword} is not a keyword of JSON Schema 2020-12`);
    else if (holds === 'one') yield* unusableWords(value, at, keywords);
    else if (holds === 'several') {
      for (const [name, item] of Object.entries(value as object))
        yield* unusableWords(item as Json, `${at}/${escapePointerToken(name)}`, keywords);
    } else if (keyword === 'pattern' && !isPattern(value))
      yield invalid(at, 'pattern must be a valid regular expression');
    else if (keyword === 'format' && !(typeof value === 'string' && FORMAT_NAMES.has(value))) {
      yield invalid(at, `format must be one of ${[...FORMAT_NAMES].join(', ')}`);
    }
  }
}

/** How many schemas a keyword holds by its own schema: several in a list or by name; undefined for what is not a keyword. */
function schemasIn(definition: Json | undefined): 'none' | 'one' | 'several' | undefined {
  if (definition === undefined) return undefined;
  if (typeof definition === 'object' && definition !== null && '$dynamicRef' in definition) return 'one';
  return /"#meta"|schemaArray/.test(JSON.stringify(definition)) ? 'several' : 'none';
}
