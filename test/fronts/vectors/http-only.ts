import type { ErrorCode } from '../../../core/errors.js';

/**
 * One create request in the bytes of HTTP, which other fronts cannot express. `{credential}` is replaced by the
 * owner's, `@own-generation` by the id of one of theirs; the connection closes after the answer unless the request says
 * otherwise.
 */
export interface HttpVector {
  readonly name: string;
  /** Headers beside Host, Content-Length and Connection; the usual ones when absent. */
  readonly headers?: readonly string[];
  readonly requestLine?: string;
  /** The body of a create when absent; a GET has none. */
  readonly body?: string | Uint8Array;
  /** Replaces the header Content-Length. */
  readonly framing?: readonly string[];
  readonly status: number;
  readonly code: ErrorCode | 'OK';
  /** A part of the message. */
  readonly says?: string;
  /** Headers the answer has. */
  readonly answers?: Readonly<Record<string, string>>;
}

export const BODY = '{"model_key":"picture","operation":"image_generation","prompt":"x","parameters":{"size":"96x64"}}';
/** A text of the greatest length, every character of it escaped twice. */
const LONGEST = `"${'\\ud83d\\ude00'.repeat(8_000)}"`;
const AUTHORIZATION = 'Authorization: Bearer {credential}';
const KEY = 'Idempotency-Key: raw';
const TYPE = 'Content-Type: application/json';
const bytes = (...parts: (string | readonly number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));
const withType = (value: string) => [AUTHORIZATION, KEY, `Content-Type: ${value}`];

const STATUS = {
  OK: 202,
  BODY_INVALID: 400,
  BODY_TOO_LARGE: 413,
  DEVELOPER_SCOPE_INSUFFICIENT: 403,
  DEVELOPER_TOKEN_INVALID: 401,
  DEVELOPER_TOKEN_REQUIRED: 401,
  FIELD_INVALID: 422,
  FIELD_REQUIRED: 422,
  IDEMPOTENCY_KEY_INVALID: 400,
  MEDIA_TYPE_UNSUPPORTED: 415,
  METHOD_NOT_ALLOWED: 405,
  ROUTE_NOT_FOUND: 404,
  TASK_NOT_FOUND: 404,
} as const;

function answers(code: keyof typeof STATUS, name: string, request: Partial<HttpVector> = {}): HttpVector {
  return { name, status: STATUS[code], code, ...request };
}

const invalid = (name: string, body: string | Uint8Array) => answers('BODY_INVALID', name, { body });

const BODIES: readonly HttpVector[] = [
  answers('OK', 'the plain request'),
  invalid('no body', ''),
  invalid('blanks', '  \n'),
  invalid('a word', 'hello'),
  invalid('half an object', '{"model_key":'),
  invalid('a trailing comma', BODY.replace('}}', '},}')),
  invalid('a comment', BODY.replace('{', '{/* x */')),
  invalid('two values', `${BODY}${BODY}`),
  invalid('single quotes', BODY.replaceAll('"', "'")),
  invalid('a byte order mark', bytes([0xef, 0xbb, 0xbf], BODY)),
  invalid('UTF-16', Buffer.from(BODY, 'utf16le')),
  invalid('a byte that is not UTF-8', bytes(BODY.slice(0, -2), ',"x":"', [0xff], '"}}')),
  invalid('an overlong encoding', bytes(BODY.slice(0, -2), ',"x":"', [0xc0, 0x80], '"}}')),
  invalid('a surrogate in UTF-8', bytes(BODY.slice(0, -2), ',"x":"', [0xed, 0xa0, 0x80], '"}}')),
  invalid('a control character in a text', BODY.replace('"x"', '"a\u0001b"')),
  invalid('100,000 lists in each other', '['.repeat(100_000)),
  invalid('60,000 lists in each other, closed', '['.repeat(60_000) + ']'.repeat(60_000)),
  invalid('33 deep', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`),
  invalid('a name twice', `{"model_key":"picture",${BODY.slice(1)}`),
  invalid('a name twice, once escaped', `{"\\u006dodel_key":"picture",${BODY.slice(1)}`),
  invalid('a name twice, further in', BODY.replace('"size":"96x64"', '"size":"96x64","size":"96x64"')),
  invalid('1e400', BODY.replace('"size"', '"count":1e400,"size"')),
  invalid('NaN', BODY.replace('"size"', '"count":NaN,"size"')),
  answers('FIELD_REQUIRED', '32 deep', { body: `{"a":${'['.repeat(31)}${']'.repeat(31)}}` }),
  answers('FIELD_INVALID', 'a list', { body: '[]' }),
  answers('FIELD_INVALID', 'null', { body: 'null' }),
  answers('FIELD_INVALID', 'a text', { body: '"x"' }),
  answers('FIELD_INVALID', '__proto__', { body: `{"__proto__":{"x":1},${BODY.slice(1)}` }),
  answers('FIELD_INVALID', '__proto__ as a parameter', { body: BODY.replace('"size"', '"__proto__":{},"size"') }),
  answers('FIELD_INVALID', 'constructor as a parameter', { body: BODY.replace('"size"', '"constructor":{},"size"') }),
  answers('OK', '-0', { body: BODY.replace('"size"', '"seed":-0,"size"') }),
  answers('FIELD_INVALID', '2^53 + 1', { body: BODY.replace('"size"', '"seed":9007199254740993,"size"') }),
  answers('FIELD_INVALID', 'a lone surrogate', { body: BODY.replace('"x"', '"\\ud800"') }),
  answers('FIELD_INVALID', 'a lone surrogate in a name', { body: BODY.replace('"size"', '"\\ud800":1,"size"') }),
  answers('FIELD_INVALID', 'an escaped NUL', { body: BODY.replace('"x"', '"\\u0000"') }),
  answers('OK', 'two texts of the greatest length, all escaped', {
    body: BODY.replace('"x"', `${LONGEST},"negative_prompt":${LONGEST}`),
  }),
  answers('OK', '256 KiB', { body: BODY.padEnd(256 * 1024) }),
  answers('BODY_TOO_LARGE', 'a byte more than 256 KiB', { body: BODY.padEnd(256 * 1024 + 1) }),
  answers('BODY_TOO_LARGE', '3 MiB', { body: BODY.padEnd(3 * 1024 * 1024) }),
];

const CHUNKED = ['Transfer-Encoding: chunked'];
const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;

/** A body of so many bytes, each in a separate chunk. */
const inBytes = (count: number) => `${[...BODY.padEnd(count)].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`;

const FRAMES: readonly HttpVector[] = [
  answers('OK', 'chunks', { framing: CHUNKED, body: chunked(BODY) }),
  answers('BODY_INVALID', 'no bytes in chunks', { framing: CHUNKED, body: '0\r\n\r\n' }),
  answers('BODY_TOO_LARGE', 'chunks of 300 KiB', { framing: CHUNKED, body: chunked(BODY.padEnd(300 * 1024)) }),
  answers('OK', '2,048 chunks', { framing: CHUNKED, body: inBytes(2_048) }),
  answers('BODY_INVALID', '2,049 chunks', { framing: CHUNKED, body: inBytes(2_049), says: 'in at most 2048 pieces' }),
  answers('BODY_INVALID', 'broken chunks', { framing: CHUNKED, body: 'zz\r\n' }),
  answers('BODY_INVALID', 'two lengths', {
    framing: [`Content-Length: ${BODY.length}`, 'Content-Length: 5'],
    body: BODY,
  }),
  answers('BODY_INVALID', 'a length and chunks', {
    framing: [`Content-Length: ${BODY.length}`, 'Transfer-Encoding: chunked'],
    body: chunked(BODY),
  }),
  answers('BODY_INVALID', 'a length that is none', { framing: ['Content-Length: -1'], body: BODY }),
  answers('BODY_INVALID', 'a folded header', { headers: [AUTHORIZATION, KEY, TYPE, 'X-Fold: a', ' b'] }),
  answers('BODY_INVALID', 'a blank before the colon', { headers: [AUTHORIZATION, KEY, TYPE, 'X-Blank : a'] }),
  answers('BODY_INVALID', 'headers of 20 KiB', {
    headers: [AUTHORIZATION, KEY, TYPE, `X-Long: ${'x'.repeat(20 * 1024)}`],
  }),
  answers('BODY_INVALID', 'no HTTP', { requestLine: 'hello' }),
];

const HEADERS: readonly HttpVector[] = [
  answers('OK', 'a character set', { headers: withType('application/json; charset=UTF-8') }),
  answers('OK', 'a quoted character set', { headers: withType('Application/JSON;charset="utf-8"') }),
  answers('MEDIA_TYPE_UNSUPPORTED', 'another character set', { headers: withType('application/json; charset=latin1') }),
  answers('MEDIA_TYPE_UNSUPPORTED', 'another JSON type', { headers: withType('application/vnd.api+json') }),
  answers('MEDIA_TYPE_UNSUPPORTED', 'a form', { headers: withType('application/x-www-form-urlencoded') }),
  answers('MEDIA_TYPE_UNSUPPORTED', 'no type', { headers: [AUTHORIZATION, KEY] }),
  answers('MEDIA_TYPE_UNSUPPORTED', 'a compressed body', {
    headers: [AUTHORIZATION, KEY, TYPE, 'Content-Encoding: gzip'],
  }),
  answers('BODY_INVALID', 'two Hosts', { headers: [AUTHORIZATION, KEY, TYPE, 'HOST: y'] }),
  answers('BODY_INVALID', 'the same Host twice', { headers: ['Host: x', AUTHORIZATION, KEY, TYPE] }),
  answers('DEVELOPER_TOKEN_REQUIRED', 'no credential', { headers: [KEY, TYPE] }),
  answers('DEVELOPER_TOKEN_REQUIRED', 'an empty credential', { headers: ['Authorization: Bearer', KEY, TYPE] }),
  answers('DEVELOPER_TOKEN_REQUIRED', 'another scheme', { headers: ['Authorization: Basic {credential}', KEY, TYPE] }),
  answers('OK', 'a scheme in lower case', { headers: ['Authorization: bearer {credential}', KEY, TYPE] }),
  answers('DEVELOPER_TOKEN_REQUIRED', 'no scheme', { headers: ['Authorization: {credential}', KEY, TYPE] }),
  answers('DEVELOPER_TOKEN_REQUIRED', 'a cookie', { headers: ['Cookie: token={credential}', KEY, TYPE] }),
  answers('DEVELOPER_TOKEN_INVALID', 'two credentials', { headers: [AUTHORIZATION, AUTHORIZATION, KEY, TYPE] }),
  answers('IDEMPOTENCY_KEY_INVALID', 'two keys', { headers: [AUTHORIZATION, KEY, KEY, TYPE] }),
  answers('IDEMPOTENCY_KEY_INVALID', 'a key beyond ASCII', {
    headers: [AUTHORIZATION, 'Idempotency-Key: \u00e9', TYPE],
  }),
  answers('DEVELOPER_SCOPE_INSUFFICIENT', 'two Apps', {
    headers: [AUTHORIZATION, KEY, TYPE, 'X-App-Id: a', 'X-App-Id: b'],
  }),
  answers('DEVELOPER_SCOPE_INSUFFICIENT', 'an empty App', { headers: [AUTHORIZATION, KEY, TYPE, 'X-App-Id:'] }),
  answers('OK', 'a request id', {
    headers: [AUTHORIZATION, KEY, TYPE, 'X-Request-Id: Az09._:-'],
    answers: { 'x-request-id': 'Az09._:-' },
  }),
];

const line = (target: string) => `${target.replace(' ', ' /api/v1/developer')} HTTP/1.1`;

const ROUTES: readonly HttpVector[] = [
  answers('ROUTE_NOT_FOUND', 'no such route', { requestLine: line('POST /nothing') }),
  answers('ROUTE_NOT_FOUND', 'a slash at the end', { requestLine: line('POST /generations/') }),
  answers('ROUTE_NOT_FOUND', 'a route in capitals', { requestLine: line('POST /Generations') }),
  answers('ROUTE_NOT_FOUND', 'no such route, no credential', { requestLine: 'POST /x HTTP/1.1', headers: [TYPE] }),
  answers('METHOD_NOT_ALLOWED', 'another method', {
    requestLine: line('PUT /generations'),
    headers: [TYPE],
    answers: { allow: 'GET, HEAD, POST' },
  }),
  answers('METHOD_NOT_ALLOWED', 'a method of the other route', {
    requestLine: line('PUT /generations/x'),
    answers: { allow: 'DELETE, GET, HEAD' },
  }),
  answers('TASK_NOT_FOUND', 'a broken escape in an id', { requestLine: line('GET /generations/%zz') }),
  answers('TASK_NOT_FOUND', 'an escaped slash in an id', { requestLine: line('GET /generations/a%2Fb') }),
  answers('OK', 'unknown query parameters', { requestLine: line('GET /credits?x=1&x=2'), status: 200 }),
  answers('METHOD_NOT_ALLOWED', 'a path that has another method only, where an id could stand', {
    requestLine: line('GET /generations/estimate'),
    answers: { allow: 'POST' },
  }),
  answers('METHOD_NOT_ALLOWED', 'its query', {
    requestLine: line('DELETE /generations/estimate?x'),
    answers: { allow: 'POST' },
  }),
  answers('OK', 'the whole address as target', {
    requestLine: 'GET http://example.com/api/v1/developer/credits HTTP/1.1',
    status: 200,
  }),
  answers('OK', 'the whole address with a query', {
    requestLine: 'GET HTTPS://a:b@[::1]:80/api/v1/developer/credits?x HTTP/1.1',
    status: 200,
  }),
  answers('METHOD_NOT_ALLOWED', 'no path in the whole address', {
    requestLine: 'POST http://example.com?x HTTP/1.1',
    answers: { allow: 'GET, HEAD' },
  }),
  ...[
    'GET http://[',
    'GET http://a:b/',
    'GET http://:80/',
    'GET //[::1',
    'GET //a@[/#',
    'GET *',
    'GET example.com:80',
    'GET ftp://example.com/',
    'GET http:/healthz',
    'OPTIONS *',
  ].map((target) =>
    answers('BODY_INVALID', `no path and no URL as target: ${target}`, { requestLine: `${target} HTTP/1.1` }),
  ),
];

/** Operations that take no body, each with what may and may not be sent to it all the same. */
const BODILESS: readonly HttpVector[] = [
  ['models', 'GET /models'],
  ['credits', 'GET /credits'],
  ['a generation', 'GET /generations/@own-generation'],
  ['a cancel', 'POST /generations/@own-generation/cancel'],
].flatMap(([to, target]): readonly HttpVector[] => {
  const requestLine = line(target as string);
  const taken = (name: string, more: Partial<HttpVector>): HttpVector =>
    answers('OK', `${name} to ${to}`, { requestLine, ...more, status: 200 });
  const refused = (code: keyof typeof STATUS, name: string, body: string, more: Partial<HttpVector> = {}) =>
    answers(code, `${name} to ${to}`, { requestLine, body, ...more });
  return [
    taken('no body', { framing: [], body: '' }),
    taken('no bytes', { body: '' }),
    taken('no bytes and no type', { body: '', headers: [AUTHORIZATION] }),
    taken('no bytes in chunks', { framing: CHUNKED, body: '0\r\n\r\n' }),
    taken('an empty object', { body: ' {} ' }),
    refused('FIELD_INVALID', 'an object with a field', '{"a/b":1}', {
      says: 'This operation takes no body: unknown field "a/b".',
    }),
    refused('FIELD_INVALID', 'an object with a null field', '{"a":null}'),
    refused('FIELD_INVALID', '__proto__', '{"__proto__":{}}'),
    refused('FIELD_INVALID', 'a list', '[]'),
    refused('FIELD_INVALID', 'null', 'null'),
    refused('BODY_INVALID', 'a word', 'hello'),
    refused('BODY_INVALID', 'half an object', '{"a":'),
    refused('BODY_INVALID', 'a field twice', '{"a":1,"a":1}'),
    refused('MEDIA_TYPE_UNSUPPORTED', 'an empty object as a form', '{}', {
      headers: [AUTHORIZATION, 'Content-Type: application/x-www-form-urlencoded'],
    }),
    taken('an empty object in 1 KiB', { body: '{}'.padEnd(1_024) }),
    refused('BODY_TOO_LARGE', 'a byte more than 1 KiB', '{}'.padEnd(1_025)),
    refused('BODY_TOO_LARGE', '3 MiB', 'x'.repeat(3 * 1024 * 1024)),
  ];
});

const listing = (query: string, says?: string): HttpVector => ({
  name: `GET /generations?${query.slice(0, 60)}`,
  headers: [AUTHORIZATION],
  requestLine: `GET /api/v1/developer/generations?${query} HTTP/1.1`,
  ...(says === undefined ? { status: 200, code: 'OK' } : { status: 422, code: 'FIELD_INVALID', says }),
});

/** Valid and invalid queries of a list. */
const QUERIES: readonly HttpVector[] = [
  ...['', 'limit=1', 'limit=100', 'limit=007', 'created_after=2026-01-31T12%3A00%3A00%2B02:00'].map((query) =>
    listing(query),
  ),
  listing('created_before=2024-02-29t23:59:59.999999999z'),
  ...['0', '101', '-1', '1.5', '1e1', 'x', '', '%31%30%30%30%30%30%30%30%30%30'].map((limit) =>
    listing(`limit=${limit}`, 'limit must be an integer, 1 to 100.'),
  ),
  listing('limit=1&limit=1', 'The query parameter "limit" must be sent once.'),
  listing('page=2', 'Unknown query parameter "page".'),
  listing('limit=%ff', 'The query must be percent-encoded UTF-8.'),
  ...[
    '',
    'yesterday',
    '2026-01-31',
    '1767225600000',
    '2026-02-29T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:00:00',
    '2026-01-31T12:00:00%2B25:00',
  ].map((time) => listing(`created_after=${time}`, 'created_after must be a time such as 2026-01-31T12:00:00Z.')),
  listing(
    'created_after=2026-01-31T12:00:00+02:00',
    'created_after must be a time such as 2026-01-31T12:00:00Z, with the + of an offset sent as %2B.',
  ),
  listing('model_key=', 'model_key must have 1 to 200 characters.'),
  listing('client_trace_id=', 'client_trace_id must have 1 to 128 characters.'),
  listing('cursor=', 'cursor must have 1 to 2000 characters.'),
  listing('status=', 'status must be one of queued, running, succeeded, failed, cancelled.'),
];

export const HTTP_VECTORS: Readonly<Record<string, readonly HttpVector[]>> = {
  'bodies': BODIES,
  'framing': FRAMES,
  'headers': HEADERS,
  'queries': QUERIES,
  'routes': ROUTES,
  'bodies where none is taken': BODILESS,
};
