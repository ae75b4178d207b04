import type { Json } from '../../core/json.js';
import { isNetwork } from './network-address.js';

/** What a configuration value may be. */
export interface ValueKind<T> {
  /** Goes on after the name of the key: `must be …`. */
  readonly wanted: string;
  /** The value, or undefined when it is not of this kind. */
  read(value: Json): T | undefined;
  /** What a variable of the environment says, as the file would have it. */
  fromText(text: string): Json;
}

export interface ConfigKey<T> {
  readonly kind: ValueKind<T>;
  /** As it is written in the file; null where nothing is the default. */
  readonly byDefault: Json;
  /** Whether a complaint about the value must not repeat it. */
  readonly isSecret?: true;
}

const asIs = (text: string): Json => text;
const asNumber = (text: string): Json => (/^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text);

export function integer(byDefault: number, minimum: number, maximum: number): ConfigKey<number> {
  const read = (value: Json) => readInteger(value, minimum, maximum);
  return { byDefault, kind: { wanted: `an integer from ${minimum} to ${maximum}`, read, fromText: asNumber } };
}

/** A number whose absence means that the thing it is about is not wanted. */
export function optionalInteger(minimum: number, maximum: number): ConfigKey<number | null> {
  const read = (value: Json) => (value === null ? null : readInteger(value, minimum, maximum));
  return { byDefault: null, kind: { wanted: `an integer from ${minimum} to ${maximum}`, read, fromText: asNumber } };
}

function readInteger(value: Json, minimum: number, maximum: number): number | undefined {
  const isIn = typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum && value <= maximum;
  return isIn ? value : undefined;
}

/** A time in the unit its key names, read as whole milliseconds; fractions are allowed. */
export function duration(byDefault: number, unitMs: number, maximum: number): ConfigKey<number> {
  const read = (value: Json) => {
    const ms = typeof value === 'number' ? Math.round(value * unitMs) : 0;
    return ms >= 1 && typeof value === 'number' && value <= maximum ? ms : undefined;
  };
  return { byDefault, kind: { wanted: `a number above 0 and at most ${maximum}`, read, fromText: asNumber } };
}

export function boolean(byDefault: boolean): ConfigKey<boolean> {
  const read = (value: Json) => (typeof value === 'boolean' ? value : undefined);
  return { byDefault, kind: { wanted: 'true or false', read, fromText: (text) => (text === 'true' || (text !== 'false' && text)) } };
}

export function oneOf<const T extends string>(byDefault: T, values: readonly T[]): ConfigKey<T> {
  const read = (value: Json) => values.find((known) => known === value);
  return { byDefault, kind: { wanted: `one of ${values.join(', ')}`, read, fromText: asIs } };
}

export function filledText(byDefault: string): ConfigKey<string> {
  return { byDefault, kind: { wanted: 'text that is not empty', read: readText, fromText: asIs } };
}

/** Text that may be left out, and is not shown again when it is wrong. */
export function optionalSecret(): ConfigKey<string | null> {
  return { ...optionalText(), isSecret: true };
}

/** Text that may be left out: a path, say. */
export function optionalText(): ConfigKey<string | null> {
  const read = (value: Json) => (value === null ? null : readText(value));
  return { byDefault: null, kind: { wanted: 'text that is not empty', read, fromText: asIs } };
}

/** An http or https address without query and fragment, which may be left out; read without a slash at its end. */
export function optionalUrl(): ConfigKey<string | null> {
  const read = (value: Json) => {
    if (value === null) return null;
    const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
    const isPlain = url !== undefined
      && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
    return isPlain ? url.href.replace(/\/+$/, '') : undefined;
  };
  return { byDefault: null, kind: { wanted: 'an http or https URL without a query', read, fromText: asIs } };
}

/** The address of a MongoDB deployment, which may be left out; it may hold a password. */
export function optionalMongoUrl(): ConfigKey<string | null> {
  const read = (value: Json) => (value === null || (typeof value === 'string' && /^mongodb(\+srv)?:\/\/\S+$/.test(value)) ? value : undefined);
  return { byDefault: null, isSecret: true, kind: { wanted: 'an address that begins with mongodb:// or mongodb+srv://', read, fromText: asIs } };
}

/** A list of addresses and networks, which may be empty; a variable has commas between them. */
export function networks(): ConfigKey<readonly string[]> {
  const read = (value: Json) => (Array.isArray(value) && value.every((item) => typeof item === 'string' && isNetwork(item)) ? (value as string[]) : undefined);
  return { byDefault: [], kind: { wanted: 'a list of addresses and networks, as 10.0.0.0/8', read, fromText: (text) => text.split(',').map((item) => item.trim()) } };
}

function readText(value: Json): string | undefined {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('\0') ? value : undefined;
}
