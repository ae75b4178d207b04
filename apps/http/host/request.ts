import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import { escapePointerToken } from '../../../core/json.js';

const BEARER = /^bearer(?: +|$)/i;

/** Every value sent for a header, in order: what the runtime joins or drops is seen here. `name` is in lower case. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/**
 * The credential of `Authorization: Bearer <credential>`; none for no header and for another scheme. Throws
 * DEVELOPER_TOKEN_INVALID when the header was sent twice: that is ambiguous.
 */
export function readCredential(req: IncomingMessage): string | undefined {
  const value = req.headers.authorization;
  if (value === undefined) return undefined;
  if (headerValues(req, 'authorization').length > 1)
    throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'Authorization must be sent once.');
  const scheme = BEARER.exec(value);
  return scheme ? value.slice(scheme[0].length) : undefined;
}

/**
 * HTTP/1.1 requires exactly one Host in every request, even if the server ignores it. Of two, a proxy may have used the
 * other.
 */
export function requireOneHost(req: IncomingMessage): void {
  const { length } = headerValues(req, 'host');
  if (length === 0 && req.httpVersionMinor >= 1)
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: it has no Host.');
  if (length > 1)
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: it has more than one Host.');
}

/** A header of which more than one value is no use, as one text. */
export function headerText(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/**
 * Whether the client says with If-None-Match that it has what carries this ETag. Compared weakly, as RFC 9110 wants it.
 */
export function hasCurrent(req: IncomingMessage, etag: unknown): boolean {
  const sent = req.headers['if-none-match'];
  if (sent === undefined || typeof etag !== 'string') return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return sent.trim() === '*' || sent.split(',').some((tag) => opaque(tag) === opaque(etag));
}

/** Where a request is sent to, still percent-encoded. */
export interface RequestTarget {
  readonly path: string;
  /** What follows the question mark; empty without one. */
  readonly query: string;
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;
const SOME_ORIGIN = 'http://host';

/**
 * Reads the target of a request line: a path, or a whole address, whose host makes no difference. Throws BODY_INVALID
 * for anything else. A signed address carries its signature here, so the message does not repeat it.
 */
export function readTarget(target: string): RequestTarget {
  const isPath = target.startsWith('/');
  // Only what begins with two slashes could name a host, and only a host can make a path unreadable.
  if ((!isPath || target.startsWith('//')) && !isAddress(target))
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: its target is no path and no URL.');
  const whole = isPath ? target : target.replace(ORIGIN, '');
  const fragment = whole.indexOf('#');
  const sent = fragment === -1 ? whole : whole.slice(0, fragment);
  const mark = sent.indexOf('?');
  const [path, query] = mark === -1 ? [sent, ''] : [sent.slice(0, mark), sent.slice(mark + 1)];
  return { path: path === '' ? '/' : path, query };
}

function isAddress(target: string): boolean {
  return (target.startsWith('/') || ORIGIN.test(target)) && URL.canParse(target, SOME_ORIGIN);
}

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

/**
 * The parameters of a query by name, percent-decoded; absent ones are left out. `names` are those that an operation
 * takes: throws FIELD_INVALID for any other, for one that is sent twice and for one that is not UTF-8.
 */
export function readQuery(query: string, names: readonly string[]): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const pair of query === '' ? [] : query.split('&')) {
    const mark = pair.indexOf('=');
    const name = decoded(mark === -1 ? pair : pair.slice(0, mark));
    const pointer = `/${escapePointerToken(name)}`;
    if (!names.includes(name))
      throw fieldInvalid(pointer, `Unknown query parameter "${name}". This operation takes ${listed(names)}.`);
    if (Object.hasOwn(values, name)) throw fieldInvalid(pointer, `The query parameter "${name}" must be sent once.`);
    values[name] = mark === -1 ? '' : decoded(pair.slice(mark + 1));
  }
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw fieldInvalid('', 'The query must be percent-encoded UTF-8.');
  }
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

/**
 * Whether the client prefers CSV to JSON: its `Accept` names `text/csv`, and gives it more weight than JSON, or does not
 * name that. What matches everything prefers neither.
 */
export function prefersCsv(req: IncomingMessage): boolean {
  const ranges = (headerText(req, 'accept') ?? '').split(',').map(rangeOf);
  const weight = (type: string) => Math.max(0, ...ranges.filter((range) => range.type === type).map(({ q }) => q));
  return weight('text/csv') > weight('application/json');
}

function rangeOf(text: string): { readonly type: string; readonly q: number } {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const q = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = Number(q?.slice(2) ?? 1);
  return { type, q: weight >= 0 && weight <= 1 ? weight : 0 };
}

/** The longest that a request waits, in seconds. */
export const MAX_WAIT_SECONDS = 60;

const PREFERENCE = /^wait[ \t]*=[ \t]*(?:(\d{1,9})|"(\d{1,9})")[ \t]*(?:;.*)?$/i;

/**
 * How many seconds the client prefers to wait for its answer (`Prefer: wait`, RFC 7240), at most `MAX_WAIT_SECONDS`;
 * undefined where it does not say, or says 0 or what is no number: a preference that is not understood is ignored. The
 * first of several counts.
 */
export function preferredWait(req: IncomingMessage): number | undefined {
  if (req.headers['prefer'] === undefined) return undefined;
  const preferences = headerValues(req, 'prefer').flatMap((value) => value.split(','));
  const wait = preferences.map((one) => one.trim()).find((one) => /^wait[ \t]*(?:[=;]|$)/i.test(one));
  const [, plain, quoted] = PREFERENCE.exec(wait ?? '') ?? [];
  const seconds = Number(plain ?? quoted ?? 0);
  return seconds === 0 ? undefined : Math.min(seconds, MAX_WAIT_SECONDS);
}
