import { resolve } from 'node:path';
import { type Driver, FILLED_TEXT } from '../../adapters/driver.js';
import type { Json, JsonObject } from '../../core/json.js';

/** One key of the configuration. A key without a default may be left out, and its value is then absent. */
export class Key<T> {
  constructor(
    /** Describes the value as it is written in the file, and its default. */
    readonly schema: JsonObject,
    /** The value as the program has it, from one that the schema accepts; relative paths begin in `folder`. */
    readonly read: (value: Json, folder: string) => T = (value) => value as T,
    /** The kind of driver that it names: the choices are then the names of such drivers. */
    readonly names?: Driver['kind'],
  ) {}

  /** The same key with the comment that the example file and the JSON Schema show. */
  about(description: string): Key<T> {
    return new Key({ description, ...this.schema }, this.read, this.names);
  }
}

/** Keys by their names in the file, in sections. */
export interface KeyTree {
  readonly [name: string]: Key<unknown> | KeyTree;
}

/** The values of keys as the program has them: names in camelCase, times in milliseconds, sizes in bytes. */
export type ValuesOf<S> = {
  readonly [N in keyof S as IfOptional<S[N], never, FieldOf<N>>]: ValueOf<S[N]>;
} & {
  readonly [N in keyof S as IfOptional<S[N], FieldOf<N>, never>]?: Exclude<ValueOf<S[N]>, undefined>;
};

type ValueOf<K> = K extends Key<infer T> ? T : ValuesOf<K>;
type IfOptional<K, Then, Else> = K extends Key<infer T> ? (undefined extends T ? Then : Else) : Else;
type FieldOf<N> = N extends `${infer Name}_${'seconds' | 'minutes' | 'hours' | 'days'}`
  ? `${CamelCase<Name>}Ms`
  : N extends `${infer Name}_mib`
    ? `${CamelCase<Name>}Bytes`
    : CamelCase<N>;
type CamelCase<N> = N extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : N;

/** `values` has what is configured, by the path of the key; what is absent or null there is left out. */
export function valuesOf<S extends KeyTree>(
  keys: S,
  values: ReadonlyMap<string, Json>,
  { folder = '', section = '' }: { readonly folder?: string; readonly section?: string } = {},
): ValuesOf<S> {
  const fields = Object.entries(keys).flatMap(([name, key]): [string, unknown][] => {
    const keyPath = section === '' ? name : `${section}.${name}`;
    if (!(key instanceof Key)) return [[fieldOf(name), valuesOf(key, values, { folder, section: keyPath })]];
    const value = values.get(keyPath) ?? null;
    return value === null ? [] : [[fieldOf(name), key.read(value, folder)]];
  });
  return Object.fromEntries(fields) as ValuesOf<S>;
}

function fieldOf(name: string): string {
  return name
    .replace(/_(?:seconds|minutes|hours|days)$/, '_ms')
    .replace(/_mib$/, '_bytes')
    .replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function boolean(byDefault: boolean): Key<boolean> {
  return new Key({ type: 'boolean', default: byDefault });
}

/** `D` is undefined where a key has no default. */
export function integer<D extends number | undefined>(byDefault: D, minimum: number, maximum: number): Key<number | D> {
  return new Key({ type: 'integer', minimum, maximum, ...defaultOf(byDefault) });
}

export function mebibytes(byDefault: number, minimum: number, maximum: number): Key<number> {
  return new Key(integer(byDefault, minimum, maximum).schema, (value) => Number(value) * 1024 * 1024);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const seconds = durationIn(SECOND);
export const minutes = durationIn(MINUTE);
export const hours = durationIn(HOUR);
export const days = durationIn(24 * HOUR);

/** A time in the unit that its name ends with; fractions are allowed. The maximum is in that unit. */
function durationIn(unitMs: number) {
  return (defaultMs: number, maximum: number): Key<number> =>
    new Key({ type: 'number', exclusiveMinimum: 0, maximum, default: defaultMs / unitMs }, (value) =>
      Math.max(1, Math.round(Number(value) * unitMs)),
    );
}

export function oneOf<const T extends string>(byDefault: T, choices: readonly T[]): Key<T> {
  return new Key({ type: 'string', enum: [...choices], default: byDefault });
}

/** The name of a driver of this kind. */
export function driver(kind: Driver['kind']): Key<string> {
  return new Key({}, undefined, kind);
}

/** Text that is not empty. */
export function text<D extends string | undefined = undefined>(byDefault?: D): Key<string | D> {
  return new Key({ ...FILLED_TEXT, ...defaultOf(byDefault) });
}

/** Text that no message repeats. */
export function secret(): Key<string | undefined> {
  return new Key({ ...FILLED_TEXT, writeOnly: true });
}

export function path<D extends string | undefined = undefined>(byDefault?: D): Key<string | D> {
  return new Key({ ...FILLED_TEXT, ...defaultOf(byDefault) }, (value, folder) => resolve(folder, value as string));
}

/** An http or https address without query and fragment; read without a slash at its end. */
export function url(): Key<string | undefined> {
  const schema = {
    type: 'string',
    format: 'uri',
    pattern: '^https?://[^?#@\\s]+$',
    errorMessage: 'must be an http or https URL without a query',
  };
  return new Key(schema, (value) => new URL(value as string).href.replace(/\/+$/, ''));
}

/** A list, which may be empty; a variable has commas between the items. */
export function list(items: JsonObject, errorMessage: string): Key<readonly string[]> {
  return new Key({ type: 'array', items: { ...items }, default: [], errorMessage });
}

/** `form` is a pattern in which HOST is the name of a host with a port or without. */
export function hosts(form: string, errorMessage: string): Key<readonly string[]> {
  const host = '(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?';
  return list({ type: 'string', pattern: `^${form.replace('HOST', host)}$` }, errorMessage);
}

/** Origins of web pages, read as browsers send them. Browser extensions have a scheme of their own. */
export function origins(): Key<readonly string[]> {
  const { schema } = list(
    { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#@*,\\s]+/?$' },
    'must be a list of origins, as https://app.example or http://localhost:6274',
  );
  return new Key(schema, (value) => (value as readonly string[]).map(originOf));
}

/** `https://app.example` of `https://App.example:443/`. */
function originOf(address: string): string {
  const origin = URL.canParse(address) ? new URL(address).origin : 'null';
  return origin === 'null' ? address.toLowerCase().replace(/\/$/, '') : origin;
}

export function networks(): Key<readonly string[]> {
  return list({ type: 'string', format: 'ip-network' }, 'must be a list of addresses and networks, as 10.0.0.0/8');
}

function defaultOf(byDefault: number | string | undefined): JsonObject {
  return byDefault === undefined ? {} : { default: byDefault };
}
