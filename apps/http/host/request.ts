import { visit } from 'jsonc-parser';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../core/errors.js';
import { type BodySchema, fieldInvalid } from '../../../core/fields.js';
import { escapePointerToken, type Json, type JsonObject } from '../../../core/json.js';
import {
  MAX_BODY_DEPTH,
  MAX_BODY_NODES,
  MAX_BODY_PIECES,
  MAX_EMPTY_BODY_BYTES,
  type RequestTarget,
} from './http-context.js';

const BEARER = /^bearer(?: +|$)/i;

/** Every value sent for a header, in order, including values that the runtime joins or drops. `name` is in lower case. */
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
 * HTTP/1.1 requires exactly one Host in every request, even if the server ignores it. If there are two, a proxy may have
 * used the other.
 */
export function requireOneHost(req: IncomingMessage): void {
  const { length } = headerValues(req, 'host');
  if (length === 0 && req.httpVersionMinor >= 1)
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: it has no Host.');
  if (length > 1)
    throw new ServiceError('BODY_INVALID', 'The request is not valid HTTP/1.1: it has more than one Host.');
}

/** A header as one text; several values are joined. */
export function headerText(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/**
 * Whether If-None-Match has this ETag. The comparison is weak, as RFC 9110 requires.
 */
export function hasCurrent(req: IncomingMessage, etag: unknown): boolean {
  const sent = req.headers['if-none-match'];
  if (sent === undefined || typeof etag !== 'string') return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return sent.trim() === '*' || sent.split(',').some((tag) => opaque(tag) === opaque(etag));
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
 * A time in a query (RFC 3339), as the first millisecond that is not before it. Throws FIELD_INVALID for any other
 * text and for a day or an hour that does not exist.
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
 * name that. A wildcard range prefers neither.
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
const MAX_WAIT_SECONDS = 60;

const PREFERENCE = /^wait[ \t]*=[ \t]*(?:(\d{1,9})|"(\d{1,9})")[ \t]*(?:;.*)?$/i;

/**
 * How many seconds the client prefers to wait for its response (`Prefer: wait`, RFC 7240), at most `MAX_WAIT_SECONDS`;
 * undefined if it states none, 0 or an invalid number: an invalid preference is ignored. The first of
 * several counts.
 */
export function preferredWait(req: IncomingMessage): number | undefined {
  if (req.headers['prefer'] === undefined) return undefined;
  const preferences = headerValues(req, 'prefer').flatMap((value) => value.split(','));
  const wait = preferences.map((one) => one.trim()).find((one) => /^wait[ \t]*(?:[=;]|$)/i.test(one));
  const [, plain, quoted] = PREFERENCE.exec(wait ?? '') ?? [];
  const seconds = Number(plain ?? quoted ?? 0);
  return seconds === 0 ? undefined : Math.min(seconds, MAX_WAIT_SECONDS);
}

/** How much is read, and how long it may take to arrive. */
export interface ReadingBounds {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** In how many pieces it may arrive; `MAX_BODY_PIECES` when absent. */
  readonly maxPieces?: number;
}

/** A byte order mark is kept, and then is not JSON. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?[ \t]*$/i;

export interface BodyRules extends ReadingBounds {
  readonly required: boolean;
  /** Called with the number of bytes that have arrived, before they are parsed. An error that it throws refuses the request. */
  readonly arrived?: (byteSize: number) => Promise<void>;
}

/**
 * The JSON body of a request; an empty object when there is none and none is needed. Throws BODY_TOO_LARGE for a
 * declared length, then MEDIA_TYPE_UNSUPPORTED, BODY_TOO_LARGE and REQUEST_TIMEOUT while it is read, and BODY_INVALID. A
 * chunked body may be empty, so that its type is checked once it has arrived, unless its client waits for 100 Continue.
 * One value has one reading: what parsers disagree on (duplicate names, other encodings, numbers without a finite value)
 * is refused.
 */
export async function readBody(req: IncomingMessage, { required, arrived, ...bounds }: BodyRules): Promise<Json> {
  const declared = declaredBytes(req);
  if (declared !== undefined && declared > bounds.maxBytes) throw bodyTooLarge(bounds.maxBytes);
  if (declared === undefined ? req.headers.expect !== undefined : declared > 0) requireJsonType(req);
  const bytes = await readBytes(req, bounds);
  await arrived?.(bytes.byteLength);
  if (bytes.byteLength === 0) {
    if (required) throw invalid('Send a JSON object as the request body.');
    return {};
  }
  if (declared === undefined) requireJsonType(req);
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw invalid('The request body must be UTF-8.');
  }
  return parseJson(text);
}

/** The one reading of a text as JSON. Throws BODY_INVALID. */
export function parseJson(text: string): Json {
  refuseAmbiguity(text);
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalid('The request body must be valid JSON.');
  }
}

function requireJsonType({ headers }: IncomingMessage): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': mediaType = '' } = headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new ServiceError('MEDIA_TYPE_UNSUPPORTED', 'Send the body without Content-Encoding.');
  if (!JSON_MEDIA_TYPE.test(mediaType)) throw new ServiceError('MEDIA_TYPE_UNSUPPORTED');
}

/** Whether the request says that its body is a form with files. */
export function isForm({ headers }: IncomingMessage): boolean {
  return /^multipart\/form-data[ \t]*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/** Walks the text as it is written, since the parsed value no longer shows what was written twice. */
function refuseAmbiguity(text: string): void {
  // The names of a list are empty.
  const namesByDepth: Set<string>[] = [];
  const enter = (): void => {
    count();
    if (namesByDepth.length >= MAX_BODY_DEPTH)
      throw invalid(`The request body must be nested at most ${MAX_BODY_DEPTH} deep.`);
    namesByDepth.push(new Set());
  };
  const leave = (): void => {
    namesByDepth.pop();
  };
  let nodes = 0;
  const count = (): void => {
    nodes += 1;
    if (nodes > MAX_BODY_NODES) throw invalid(`The request body must hold at most ${MAX_BODY_NODES} names and values.`);
  };
  visit(
    text,
    {
      onObjectBegin: enter,
      onArrayBegin: enter,
      onObjectEnd: leave,
      onArrayEnd: leave,
      onObjectProperty: (name) => {
        count();
        const names = namesByDepth.at(-1);
        if (names?.has(name)) throw invalid('The request body must not name a field twice.');
        names?.add(name);
      },
      onLiteralValue: (value: unknown) => {
        count();
        if (typeof value === 'number' && !Number.isFinite(value))
          throw invalid('The request body must hold no number beyond the range of a double.');
      },
      onError: () => {
        throw invalid('The request body must be valid JSON.');
      },
    },
    { disallowComments: true },
  );
}

/** The schema of an object; `T` is what conforms to it. */
export type TypedSchema<T> = BodySchema & { readonly conforming?: T };

type ValueOf<F> = F extends { readonly type: 'string' }
  ? string
  : F extends { readonly type: 'integer' }
    ? number
    : F extends { readonly type: 'boolean' }
      ? boolean
      : F extends { readonly type: 'array'; readonly items: infer I }
        ? readonly ValueOf<I>[]
        : F extends TypedSchema<infer T>
          ? T
          : Json;

/** The schema of an object with these fields and no other, all of them required unless `required` names fewer. */
export function bodySchema<const P extends JsonObject, R extends keyof P = keyof P>(
  properties: P,
  required: readonly R[] = Object.keys(properties) as unknown as R[],
): TypedSchema<{ readonly [N in R]: ValueOf<P[N]> } & { readonly [N in Exclude<keyof P, R>]?: ValueOf<P[N]> }> {
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 ? { required: required as readonly string[] as string[] } : {}),
    properties,
  };
}

function invalid(message: string): ServiceError {
  return new ServiceError('BODY_INVALID', message);
}

/**
 * For operations that take no body: there is none, or it is an object without fields, which many clients send. Throws
 * as `readBody` does, and FIELD_INVALID for a body with something in it, as for any unknown field.
 */
export async function readNoBody(req: IncomingMessage, rules: Omit<BodyRules, 'required' | 'maxBytes'>): Promise<Json> {
  if (declaredBytes(req) === 0) return {};
  const body = await readBody(req, { ...rules, maxBytes: MAX_EMPTY_BODY_BYTES, required: false });
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw fieldInvalid('', 'This operation takes no body; send none, or an object without fields.');
  const [name] = Object.keys(body);
  if (name !== undefined)
    throw fieldInvalid(`/${escapePointerToken(name)}`, `This operation takes no body: unknown field "${name}".`);
  return body;
}

const EMPTY = Buffer.alloc(0);

/**
 * The bytes of a request's body; none when it has no body. Throws BODY_TOO_LARGE as soon as it is known, from the
 * declared length or while reading, REQUEST_TIMEOUT, and BODY_INVALID for one that arrives in too many pieces or is
 * incomplete.
 */
export function readBytes(
  req: IncomingMessage,
  { maxBytes, timeoutMs, maxPieces = MAX_BODY_PIECES }: ReadingBounds,
): Promise<Buffer> {
  const declared = declaredBytes(req);
  if (declared === 0) return Promise.resolve(EMPTY);
  if (declared !== undefined && declared > maxBytes) return Promise.reject(bodyTooLarge(maxBytes));
  // The client may have left while its credential was looked up: nothing would tell us any more.
  if (req.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let byteSize = 0;
    const settle = (error?: ServiceError): void => {
      clearTimeout(timer);
      req.off('data', take).off('end', settle).off('error', breakOff).off('close', breakOff);
      if (error === undefined)
        return resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, byteSize));
      req.on('error', ignore).pause();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      byteSize += chunk.byteLength;
      if (byteSize > maxBytes) settle(bodyTooLarge(maxBytes));
      else if (chunks.push(chunk) > maxPieces)
        settle(
          new ServiceError(
            'BODY_INVALID',
            `The request body must arrive in at most ${maxPieces} pieces; send it in larger chunks, or with Content-Length.`,
          ),
        );
    };
    const breakOff = (): void => settle(brokenOff());
    const timer = setTimeout(
      () => settle(new ServiceError('REQUEST_TIMEOUT', `The request body must arrive within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    req.on('data', take).on('end', settle).on('error', breakOff).on('close', breakOff);
  });
}

/** How long the body is by its headers; undefined when it comes in chunks, and its length is known at its end. */
export function declaredBytes({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

export function bodyTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('BODY_TOO_LARGE', `The request body must have at most ${maxBytes} bytes.`);
}

export function brokenOff(): ServiceError {
  return new ServiceError('BODY_INVALID', 'The request body ended before it was complete.');
}

function ignore(): void {
  // The client is gone, and the answer with it.
}
