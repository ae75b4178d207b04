import { FILLED_TEXT } from '../../adapters/driver.js';
import { OptionValues } from '../../adapters/system/schema-faults.js';
import type { Json, JsonObject } from '../../core/json.js';
import { isNetwork } from './network-address.js';

/** One key of the configuration: what its JSON Schema says, and how its value is read. */
export interface ConfigKey<T> {
  readonly schema: JsonObject;
  /** As it is written in the file; null where nothing is the default. */
  readonly byDefault: Json;
  /** Whether a complaint about the value must not repeat it. */
  readonly isSecret: boolean;
  /** What a complaint says after the name of the key: `must be …`. */
  readonly wanted: string;
  /** The value as the program has it, or undefined when the schema refuses it. */
  readonly read: (value: Json) => T | undefined;
  /** Whether the schema takes the value. Throws when the schema itself cannot be used. */
  readonly fits: (value: Json) => boolean;
}

const values = new OptionValues({ 'uri': (text) => URL.canParse(text), 'ip-network': isNetwork });

/** A key whose value is what its schema says. Where it has no default, null leaves it out. */
export function keyOf<T>(schema: JsonObject, convert: (value: Json) => unknown = (value) => value): ConfigKey<T> {
  const byDefault = schema['default'] ?? null;
  const fits = (value: Json) => values.fits(schema, value);
  return {
    schema,
    byDefault,
    isSecret: schema['writeOnly'] === true,
    wanted: wantedBy(schema),
    fits,
    read(value) {
      if (value === null && byDefault === null) return null as T;
      return value === byDefault || fits(value) ? (convert(value) as T) : undefined;
    },
  };
}

/** What is read of an option's schema to speak about it. */
interface DescribedSchema {
  readonly type?: 'integer' | 'number' | 'boolean' | 'array' | 'string' | 'object';
  readonly errorMessage?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly items?: { readonly type?: unknown };
}

/** What a variable of the environment says, as the file would have it. */
export function valueOfText({ schema }: ConfigKey<unknown>, text: string): Json {
  const { type, items } = schema as DescribedSchema;
  return type === 'array'
    ? text.split(',').map((item) => itemOfText(items?.type, item.trim()))
    : itemOfText(type, text);
}

function itemOfText(type: unknown, text: string): Json {
  if (type === 'integer' || type === 'number') return /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
  return type === 'boolean' ? text === 'true' || (text !== 'false' && text) : text;
}

/** How a sentence names the items of a list, by their type. */
const ITEMS: ReadonlyMap<unknown, string> = new Map([
  ['string', ' of text'],
  ['integer', ' of integers'],
  ['number', ' of numbers'],
]);

function wantedBy(schema: DescribedSchema): string {
  const { errorMessage, type = 'string', enum: choices } = schema;
  if (errorMessage !== undefined) return errorMessage;
  if (choices !== undefined) return `must be one of ${choices.join(', ')}`;
  switch (type) {
    case 'integer':
      return `must be an integer${range(schema)}`;
    case 'number':
      return `must be a number${range(schema)}`;
    case 'boolean':
      return 'must be true or false';
    case 'array':
      return `must be a list${ITEMS.get(schema.items?.type) ?? ''}`;
    case 'object':
      return 'must hold keys with values';
    case 'string':
      return `must be text${kindOfText(schema)}`;
  }
}

function kindOfText({ minLength, maxLength, pattern }: DescribedSchema): string {
  const lengths =
    minLength !== undefined && maxLength !== undefined
      ? ` of ${minLength} to ${maxLength} characters`
      : maxLength !== undefined
        ? ` of at most ${maxLength} characters`
        : minLength !== undefined && minLength > 1
          ? ` of at least ${minLength} characters`
          : '';
  if (pattern !== undefined && pattern !== FILLED_TEXT.pattern) return `${lengths} that matches ${pattern}`;
  return lengths === '' ? ' that is not empty' : lengths;
}

function range({ minimum, maximum, exclusiveMinimum }: DescribedSchema): string {
  if (exclusiveMinimum !== undefined)
    return ` above ${exclusiveMinimum}${maximum === undefined ? '' : ` and at most ${maximum}`}`;
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

export function integer(byDefault: number, minimum: number, maximum: number): ConfigKey<number> {
  return keyOf({ type: 'integer', minimum, maximum, default: byDefault });
}

/** A number whose absence means that the thing it is about is not wanted. */
export function optionalInteger(minimum: number, maximum: number): ConfigKey<number | null> {
  return keyOf({ type: 'integer', minimum, maximum });
}

/** A time in the unit its key names, read as whole milliseconds; fractions are allowed. */
export function duration(byDefault: number, unitMs: number, maximum: number): ConfigKey<number> {
  return keyOf({ type: 'number', exclusiveMinimum: 0, maximum, default: byDefault }, (value) =>
    Math.max(1, Math.round(Number(value) * unitMs)),
  );
}

export function boolean(byDefault: boolean): ConfigKey<boolean> {
  return keyOf({ type: 'boolean', default: byDefault });
}

export function oneOf<const T extends string>(byDefault: T, choices: readonly T[]): ConfigKey<T> {
  return keyOf({ type: 'string', enum: [...choices], default: byDefault });
}

export function filledText(byDefault: string): ConfigKey<string> {
  return keyOf({ ...FILLED_TEXT, default: byDefault });
}

/** Text that may be left out: a path, say. */
export function optionalText(): ConfigKey<string | null> {
  return keyOf({ ...FILLED_TEXT });
}

/** As `optionalText`; its value is never repeated. */
export function optionalSecret(): ConfigKey<string | null> {
  return keyOf({ ...FILLED_TEXT, writeOnly: true });
}

/** An http or https address without query and fragment, which may be left out; read without a slash at its end. */
export function optionalUrl(): ConfigKey<string | null> {
  const schema = {
    type: 'string',
    format: 'uri',
    pattern: '^https?://[^?#@\\s]+$',
    errorMessage: 'must be an http or https URL without a query',
  };
  return keyOf(schema, (value) => new URL(value as string).href.replace(/\/+$/, ''));
}

/** A list of package names and paths, which may be empty; a variable has commas between them. */
export function moduleNames(): ConfigKey<readonly string[]> {
  return keyOf({
    type: 'array',
    items: { ...FILLED_TEXT },
    default: [],
    errorMessage: 'must be a list of package names and paths',
  });
}

const HOST = '(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?';

/** A list of hosts, which may be empty; a variable has commas between them. */
export function hosts(): ConfigKey<readonly string[]> {
  return keyOf({
    type: 'array',
    items: { type: 'string', pattern: `^${HOST}$` },
    default: [],
    errorMessage: 'must be a list of hosts, as app.example or app.example:8443, without http://',
  });
}

/** A list of hosts, which may be empty, or have `*` for any; a variable has commas between them. */
export function hostsOrAny(): ConfigKey<readonly string[]> {
  return keyOf({
    type: 'array',
    items: { type: 'string', pattern: `^(\\*|${HOST})$` },
    default: [],
    errorMessage: 'must be a list of host names, as app.example, or *',
  });
}

/** A list of addresses and networks, which may be empty; a variable has commas between them. */
export function networks(): ConfigKey<readonly string[]> {
  const errorMessage = 'must be a list of addresses and networks, as 10.0.0.0/8';
  return keyOf({ type: 'array', items: { type: 'string', format: 'ip-network' }, default: [], errorMessage });
}
