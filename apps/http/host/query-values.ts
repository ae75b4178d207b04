import { fieldInvalid } from '../../../core/fields.js';

type Query = Readonly<Record<string, string>>;

const TIME = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/i;

/** A whole number of a query, or `absent`. Throws FIELD_INVALID for one that is none, or out of bounds. */
export function readWhole(
  query: Query,
  name: string,
  { min, max, absent }: { readonly min: number; readonly max: number; readonly absent: number },
): number {
  const text = query[name];
  if (text === undefined) return absent;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min && value <= max)) throw fieldInvalid(`/${name}`, `${name} must be an integer, ${min} to ${max}.`);
  return value;
}

/** A text of a query, absent where it was not sent. Throws FIELD_INVALID for an empty one and for one that is too long. */
export function readText(query: Query, name: string, maxLength: number): string | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (text === '' || text.length > maxLength)
    throw fieldInvalid(`/${name}`, `${name} must have 1 to ${maxLength} characters.`);
  return text;
}

/**
 * A time of a query (RFC 3339) in milliseconds, the first that is not before it. Throws FIELD_INVALID for any other text
 * and for a day or an hour that does not exist.
 */
export function readTime(query: Query, name: string): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const [, day = '', clock = '', fraction = '', zone = ''] = TIME.exec(text) ?? [];
  const local = Date.parse(`${day}T${clock}Z`);
  const at = Date.parse(`${day}T${clock}${zone.toUpperCase()}`);
  // A day that does not exist is read as one of the next month.
  const exists = !Number.isNaN(at) && new Date(local).toISOString().startsWith(`${day}T${clock}`);
  if (!exists) {
    // In a query a + is a space.
    const hint = / \d\d:\d\d$/.test(text) ? ', with the + of an offset sent as %2B' : '';
    throw fieldInvalid(`/${name}`, `${name} must be a time such as 2026-01-31T12:00:00Z${hint}.`);
  }
  return at + Math.ceil(Number(fraction.padEnd(9, '0')) / 1_000_000);
}
