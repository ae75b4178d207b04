import type { Json, JsonObject } from '../../core/json.js';

/**
 * One thing of a public interface that others depend on, such as a field, an option or a column. `in`: others give it to
 * Darkroom, which must continue to accept it. `out`: Darkroom gives it to others, who must be able to read it.
 */
export interface Entry {
  readonly direction: 'in' | 'out' | 'both';
  /** Whether it must be given, or is always there. */
  readonly required?: boolean;
  /** The types that it may have, sorted. */
  readonly types?: readonly string[];
  /** All values that it may have, as JSON, sorted. */
  readonly values?: readonly string[];
  /** Upper and lower bounds, by their name in JSON Schema. */
  readonly most?: Readonly<Record<string, number>>;
  readonly least?: Readonly<Record<string, number>>;
  /** Facts of which any change breaks somebody, such as a pattern, a default or the columns of an index. */
  readonly exact?: JsonObject;
  /** Whether the entry may only rise, as versions do. */
  readonly version?: number;
}

/** An interface by the names under which the changelog mentions its parts. */
export type Interface = Readonly<Record<string, Entry>>;

export interface Difference {
  /** The name of the entry, which the changelog has to contain. */
  readonly name: string;
  /** The change, without the name: "is gone". */
  readonly change: string;
}

const takes = ({ direction }: Entry): boolean => direction !== 'out';
const gives = ({ direction }: Entry): boolean => direction !== 'in';

/** Everything that somebody who uses `before` would notice as broken with `after`. */
export function breaks(before: Interface, after: Interface): readonly Difference[] {
  const gone = Object.keys(before).filter((name) => !(name in after));
  const removed = gone
    .filter((name) => !gone.some((other) => isWithin(name, other)))
    .map((name) => ({ name, change: 'is gone' }));
  const added = Object.entries(after)
    .filter(([name, entry]) => !(name in before) && takes(entry) && entry.required && isPartOf(name, before, after))
    .map(([name]) => ({ name, change: 'is new, and must be given' }));
  const changed = Object.entries(before).flatMap(([name, entry]) => {
    const now = after[name];
    return now === undefined ? [] : changesOf(entry, now).map((change) => ({ name, change }));
  });
  return [...removed, ...added, ...changed];
}

/** Whether a name is that of a part of another: `Task.outputs[].url` of `Task.outputs`. */
function isWithin(name: string, other: string): boolean {
  return name.length > other.length && name.startsWith(other) && /^[.[ ({]/.test(name.slice(other.length));
}

/** Whether something is part of what was there before: a required part of something new breaks nobody. */
function isPartOf(name: string, before: Interface, after: Interface): boolean {
  const wholes = Object.keys(after).filter((other) => isWithin(name, other));
  const nearest = wholes.reduce((longest, other) => (other.length > longest.length ? other : longest), '');
  return nearest === '' || nearest in before;
}

function changesOf(before: Entry, after: Entry): string[] {
  return [
    ...ofPresence(before, after),
    ...ofSet('type', before.types, after.types, before),
    ...ofSet('value', before.values, after.values, before),
    ...ofBounds(before, after),
    ...ofFacts(before, after),
    ...(before.version !== undefined && (after.version ?? 0) < before.version
      ? [`falls from ${before.version} to ${after.version ?? 'none'}`]
      : []),
  ];
}

function ofPresence(before: Entry, after: Entry): string[] {
  if (takes(before) && !before.required && after.required) return ['must be given now'];
  if (gives(before) && before.required && !after.required) return ['may be absent now'];
  return [];
}

/** Absent means any. */
function ofSet(
  what: string,
  before: readonly string[] | undefined,
  after: readonly string[] | undefined,
  entry: Entry,
): string[] {
  const covers = (set: readonly string[] | undefined, one: string): boolean =>
    set === undefined || set.includes(one) || (one === 'integer' && set.includes('number'));
  const lost = after === undefined ? [] : (before ?? ['any']).filter((one) => !covers(after, one));
  const won = before === undefined ? [] : (after ?? ['any']).filter((one) => !covers(before, one));
  return [
    ...(takes(entry) && lost.length > 0 ? [`no longer takes the ${what} ${lost.join(', ')}`] : []),
    ...(gives(entry) && won.length > 0 ? [`may have the ${what} ${won.join(', ')} now`] : []),
  ];
}

/** Tighter bounds refuse what was accepted. Wider ones of answers break nobody who reads them. */
function ofBounds(before: Entry, after: Entry): string[] {
  if (!takes(before)) return [];
  const tighter = (name: string, was: number | undefined, is: number, isTighter: boolean): string[] =>
    isTighter ? [`has ${name} ${is} now, and had ${was ?? 'none'}`] : [];
  return [
    ...Object.entries(after.most ?? {}).flatMap(([name, is]) =>
      tighter(name, before.most?.[name], is, is < (before.most?.[name] ?? Infinity)),
    ),
    ...Object.entries(after.least ?? {}).flatMap(([name, is]) =>
      tighter(name, before.least?.[name], is, is > (before.least?.[name] ?? -Infinity)),
    ),
  ];
}

function ofFacts(before: Entry, after: Entry): string[] {
  const names = new Set([...Object.keys(before.exact ?? {}), ...Object.keys(after.exact ?? {})]);
  return [...names].flatMap((name) => {
    const [was, is] = [before.exact?.[name], after.exact?.[name]].map((one) => JSON.stringify(one) ?? 'none');
    return was === is ? [] : [`has ${name} ${is} now, and had ${was}`];
  });
}

const MOST = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const LEAST = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const EXACT = ['format', 'pattern', 'multipleOf', 'uniqueItems', '$ref', 'propertyNames'];

/** A JSON Schema as the entries of its parts, in the order in which they stand in it. */
export function schemaEntries(
  name: string,
  schema: JsonObject,
  options: { readonly direction: Entry['direction']; readonly required?: boolean },
): Record<string, Entry> {
  const { direction, required } = options;
  const own: Entry = { direction, ...(required === undefined ? {} : { required }), ...factsOf(schema, direction) };
  const parts = partsOf(name, schema).map(([path, part, isRequired]) =>
    schemaEntries(path, part, { direction, ...(isRequired === undefined ? {} : { required: isRequired }) }),
  );
  return Object.assign({ [name]: own }, ...parts) as Record<string, Entry>;
}

function factsOf(schema: JsonObject, direction: Entry['direction']): Partial<Entry> {
  const numbers = (names: readonly string[]) => {
    const found = names.flatMap((name) => (typeof schema[name] === 'number' ? [[name, schema[name]] as const] : []));
    return found.length === 0 ? undefined : Object.fromEntries(found);
  };
  const values = 'const' in schema ? [schema['const']] : (schema['enum'] as readonly Json[] | undefined);
  const exact = EXACT.flatMap((name) => (name in schema ? [[name, schema[name]] as const] : []));
  // A default decides what Darkroom does with a request that lacks the field.
  if (direction === 'in' && 'default' in schema) exact.push(['default', schema['default']]);
  if (direction !== 'out' && schema['additionalProperties'] === false) exact.push(['additionalProperties', false]);
  return defined({
    types: schema['type'] === undefined ? undefined : [schema['type']].flat().map(String).toSorted(),
    values: values?.map((value) => JSON.stringify(value)).toSorted(),
    most: numbers(MOST),
    least: numbers(LEAST),
    exact: exact.length === 0 ? undefined : (Object.fromEntries(exact) as JsonObject),
  });
}

function defined<T extends object>(facts: T): Partial<{ [K in keyof T]: NonNullable<T[K]> }> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof defined<T>
  >;
}

type Part = readonly [path: string, schema: JsonObject, isRequired: boolean | undefined];

const isSchema = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function partsOf(name: string, schema: JsonObject): readonly Part[] {
  const required = (schema['required'] ?? []) as readonly string[];
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>).map(
    ([property, part]): Part => [`${name}.${property}`, part, required.includes(property)],
  );
  const inner = (key: string, suffix: string): readonly Part[] =>
    isSchema(schema[key]) ? [[`${name}${suffix}`, schema[key], undefined]] : [];
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((key) =>
    ((schema[key] ?? []) as readonly JsonObject[]).map((part, index): Part => [
      `${name}(${labelOf(part) ?? `${key} ${index + 1}`})`,
      part,
      undefined,
    ]),
  );
  return [...properties, ...inner('items', '[]'), ...inner('additionalProperties', '.*'), ...alternatives];
}

/** The `kind` of an alternative, which distinguishes it from the others. */
function labelOf(part: JsonObject): string | undefined {
  const { kind } = (part['properties'] ?? {}) as Record<string, JsonObject>;
  return typeof kind?.['const'] === 'string' ? kind['const'] : undefined;
}
