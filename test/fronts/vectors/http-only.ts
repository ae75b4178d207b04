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
const AUTHORIZATION = 'Authorization: Bearer {credential}';
const KEY = 'Idempotency-Key: raw';
const TYPE = 'Content-Type: application/json';
const bytes = (...parts: (string | readonly number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));
const withType = (value: string) => [AUTHORIZATION, KEY, `Content-Type: ${value}`];

const invalid = (name: string, body: string | Uint8Array): HttpVector => ({
  name,
  body,
  status: 400,
  code: 'BODY_INVALID',
});

const BODIES: readonly HttpVector[] = [
  { name: 'the plain request', status: 202, code: 'OK' },
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
  { name: '32 deep', body: `{"a":${'['.repeat(31)}${']'.repeat(31)}}`, status: 422, code: 'FIELD_REQUIRED' },
  { name: 'a list', body: '[]', status: 422, code: 'FIELD_INVALID' },
  { name: 'null', body: 'null', status: 422, code: 'FIELD_INVALID' },
  { name: 'a text', body: '"x"', status: 422, code: 'FIELD_INVALID' },
  { name: '__proto__', body: `{"__proto__":{"x":1},${BODY.slice(1)}`, status: 422, code: 'FIELD_INVALID' },
  {
    name: '__proto__ as a parameter',
    body: BODY.replace('"size"', '"__proto__":{},"size"'),
    status: 422,
    code: 'FIELD_INVALID',
  },
  {
    name: 'constructor as a parameter',
    body: BODY.replace('"size"', '"constructor":{},"size"'),
    status: 422,
    code: 'FIELD_INVALID',
  },
  { name: '-0', body: BODY.replace('"size"', '"seed":-0,"size"'), status: 202, code: 'OK' },
  {
    name: '2^53 + 1',
    body: BODY.replace('"size"', '"seed":9007199254740993,"size"'),
    status: 422,
    code: 'FIELD_INVALID',
  },
  { name: 'a lone surrogate', body: BODY.replace('"x"', '"\\ud800"'), status: 422, code: 'FIELD_INVALID' },
  {
    name: 'a lone surrogate in a name',
    body: BODY.replace('"size"', '"\\ud800":1,"size"'),
    status: 422,
    code: 'FIELD_INVALID',
  },
  { name: 'an escaped NUL', body: BODY.replace('"x"', '"\\u0000"'), status: 422, code: 'FIELD_INVALID' },
  { name: '128 KiB', body: BODY.padEnd(128 * 1024), status: 202, code: 'OK' },
  { name: 'a byte more than 128 KiB', body: BODY.padEnd(128 * 1024 + 1), status: 413, code: 'BODY_TOO_LARGE' },
  { name: '3 MiB', body: BODY.padEnd(3 * 1024 * 1024), status: 413, code: 'BODY_TOO_LARGE' },
];

const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;

/** A body of so many bytes, each in a separate chunk. */
const inBytes = (count: number) => `${[...BODY.padEnd(count)].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`;

const FRAMES: readonly HttpVector[] = [
  { name: 'chunks', framing: ['Transfer-Encoding: chunked'], body: chunked(BODY), status: 202, code: 'OK' },
  {
    name: 'no bytes in chunks',
    framing: ['Transfer-Encoding: chunked'],
    body: '0\r\n\r\n',
    status: 400,
    code: 'BODY_INVALID',
  },
  {
    name: 'chunks of 300 KiB',
    framing: ['Transfer-Encoding: chunked'],
    body: chunked(BODY.padEnd(300 * 1024)),
    status: 413,
    code: 'BODY_TOO_LARGE',
  },
  { name: '1,024 chunks', framing: ['Transfer-Encoding: chunked'], body: inBytes(1_024), status: 202, code: 'OK' },
  {
    name: '1,025 chunks',
    framing: ['Transfer-Encoding: chunked'],
    body: inBytes(1_025),
    status: 400,
    code: 'BODY_INVALID',
    says: 'in at most 1024 pieces',
  },
  { name: 'broken chunks', framing: ['Transfer-Encoding: chunked'], body: 'zz\r\n', status: 400, code: 'BODY_INVALID' },
  {
    name: 'two lengths',
    framing: [`Content-Length: ${BODY.length}`, 'Content-Length: 5'],
    body: BODY,
    status: 400,
    code: 'BODY_INVALID',
  },
  {
    name: 'a length and chunks',
    framing: [`Content-Length: ${BODY.length}`, 'Transfer-Encoding: chunked'],
    body: chunked(BODY),
    status: 400,
    code: 'BODY_INVALID',
  },
  { name: 'a length that is none', framing: ['Content-Length: -1'], body: BODY, status: 400, code: 'BODY_INVALID' },
  {
    name: 'a folded header',
    headers: [AUTHORIZATION, KEY, TYPE, 'X-Fold: a', ' b'],
    status: 400,
    code: 'BODY_INVALID',
  },
  {
    name: 'a blank before the colon',
    headers: [AUTHORIZATION, KEY, TYPE, 'X-Blank : a'],
    status: 400,
    code: 'BODY_INVALID',
  },
  {
    name: 'headers of 20 KiB',
    headers: [AUTHORIZATION, KEY, TYPE, `X-Long: ${'x'.repeat(20 * 1024)}`],
    status: 400,
    code: 'BODY_INVALID',
  },
  { name: 'no HTTP', requestLine: 'hello', status: 400, code: 'BODY_INVALID' },
];

const HEADERS: readonly HttpVector[] = [
  { name: 'a character set', headers: withType('application/json; charset=UTF-8'), status: 202, code: 'OK' },
  { name: 'a quoted character set', headers: withType('Application/JSON;charset="utf-8"'), status: 202, code: 'OK' },
  {
    name: 'another character set',
    headers: withType('application/json; charset=latin1'),
    status: 415,
    code: 'MEDIA_TYPE_UNSUPPORTED',
  },
  {
    name: 'another JSON type',
    headers: withType('application/vnd.api+json'),
    status: 415,
    code: 'MEDIA_TYPE_UNSUPPORTED',
  },
  {
    name: 'a form',
    headers: withType('application/x-www-form-urlencoded'),
    status: 415,
    code: 'MEDIA_TYPE_UNSUPPORTED',
  },
  { name: 'no type', headers: [AUTHORIZATION, KEY], status: 415, code: 'MEDIA_TYPE_UNSUPPORTED' },
  {
    name: 'a compressed body',
    headers: [AUTHORIZATION, KEY, TYPE, 'Content-Encoding: gzip'],
    status: 415,
    code: 'MEDIA_TYPE_UNSUPPORTED',
  },
  { name: 'two Hosts', headers: [AUTHORIZATION, KEY, TYPE, 'HOST: y'], status: 400, code: 'BODY_INVALID' },
  { name: 'the same Host twice', headers: ['Host: x', AUTHORIZATION, KEY, TYPE], status: 400, code: 'BODY_INVALID' },
  {
    name: 'no credential',
    headers: [KEY, TYPE],
    status: 401,
    code: 'DEVELOPER_TOKEN_REQUIRED',
  },
  {
    name: 'an empty credential',
    headers: ['Authorization: Bearer', KEY, TYPE],
    status: 401,
    code: 'DEVELOPER_TOKEN_REQUIRED',
  },
  {
    name: 'another scheme',
    headers: ['Authorization: Basic {credential}', KEY, TYPE],
    status: 401,
    code: 'DEVELOPER_TOKEN_REQUIRED',
  },
  {
    name: 'a scheme in lower case',
    headers: ['Authorization: bearer {credential}', KEY, TYPE],
    status: 202,
    code: 'OK',
  },
  {
    name: 'no scheme',
    headers: ['Authorization: {credential}', KEY, TYPE],
    status: 401,
    code: 'DEVELOPER_TOKEN_REQUIRED',
  },
  {
    name: 'a cookie',
    headers: ['Cookie: token={credential}', KEY, TYPE],
    status: 401,
    code: 'DEVELOPER_TOKEN_REQUIRED',
  },
  {
    name: 'two credentials',
    headers: [AUTHORIZATION, AUTHORIZATION, KEY, TYPE],
    status: 401,
    code: 'DEVELOPER_TOKEN_INVALID',
  },
  { name: 'two keys', headers: [AUTHORIZATION, KEY, KEY, TYPE], status: 400, code: 'IDEMPOTENCY_KEY_INVALID' },
  {
    name: 'a key beyond ASCII',
    headers: [AUTHORIZATION, 'Idempotency-Key: \u00e9', TYPE],
    status: 400,
    code: 'IDEMPOTENCY_KEY_INVALID',
  },
  {
    name: 'two Apps',
    headers: [AUTHORIZATION, KEY, TYPE, 'X-App-Id: a', 'X-App-Id: b'],
    status: 403,
    code: 'DEVELOPER_SCOPE_INSUFFICIENT',
  },
  {
    name: 'an empty App',
    headers: [AUTHORIZATION, KEY, TYPE, 'X-App-Id:'],
    status: 403,
    code: 'DEVELOPER_SCOPE_INSUFFICIENT',
  },
  {
    name: 'a request id',
    headers: [AUTHORIZATION, KEY, TYPE, 'X-Request-Id: Az09._:-'],
    status: 202,
    code: 'OK',
    answers: { 'x-request-id': 'Az09._:-' },
  },
];

const ROUTES: readonly HttpVector[] = [
  {
    name: 'no such route',
    requestLine: 'POST /api/v1/developer/nothing HTTP/1.1',
    status: 404,
    code: 'ROUTE_NOT_FOUND',
  },
  {
    name: 'a slash at the end',
    requestLine: 'POST /api/v1/developer/generations/ HTTP/1.1',
    status: 404,
    code: 'ROUTE_NOT_FOUND',
  },
  {
    name: 'a route in capitals',
    requestLine: 'POST /api/v1/developer/Generations HTTP/1.1',
    status: 404,
    code: 'ROUTE_NOT_FOUND',
  },
  {
    name: 'no such route, no credential',
    requestLine: 'POST /x HTTP/1.1',
    headers: [TYPE],
    status: 404,
    code: 'ROUTE_NOT_FOUND',
  },
  {
    name: 'another method',
    requestLine: 'PUT /api/v1/developer/generations HTTP/1.1',
    headers: [TYPE],
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    answers: { allow: 'GET, HEAD, POST' },
  },
  {
    name: 'a method of the other route',
    requestLine: 'PUT /api/v1/developer/generations/x HTTP/1.1',
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    answers: { allow: 'DELETE, GET, HEAD' },
  },
  {
    name: 'a broken escape in an id',
    requestLine: 'GET /api/v1/developer/generations/%zz HTTP/1.1',
    status: 404,
    code: 'TASK_NOT_FOUND',
  },
  {
    name: 'an escaped slash in an id',
    requestLine: 'GET /api/v1/developer/generations/a%2Fb HTTP/1.1',
    status: 404,
    code: 'TASK_NOT_FOUND',
  },
  {
    name: 'unknown query parameters',
    requestLine: 'GET /api/v1/developer/credits?x=1&x=2 HTTP/1.1',
    status: 200,
    code: 'OK',
  },
  {
    name: 'a path that has another method only, where an id could stand',
    requestLine: 'GET /api/v1/developer/generations/estimate HTTP/1.1',
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    answers: { allow: 'POST' },
  },
  {
    name: 'its query',
    requestLine: 'DELETE /api/v1/developer/generations/estimate?x HTTP/1.1',
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    answers: { allow: 'POST' },
  },
  {
    name: 'the whole address as target',
    requestLine: 'GET http://example.com/api/v1/developer/credits HTTP/1.1',
    status: 200,
    code: 'OK',
  },
  {
    name: 'the whole address with a query',
    requestLine: 'GET HTTPS://a:b@[::1]:80/api/v1/developer/credits?x HTTP/1.1',
    status: 200,
    code: 'OK',
  },
  {
    name: 'no path in the whole address',
    requestLine: 'POST http://example.com?x HTTP/1.1',
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    answers: { allow: 'GET, HEAD' },
  },
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
  ].map((line): HttpVector => ({
    name: `no path and no URL as target: ${line}`,
    requestLine: `${line} HTTP/1.1`,
    status: 400,
    code: 'BODY_INVALID',
  })),
];

/** Operations that take no body, each with what may and may not be sent to it all the same. */
const BODILESS: readonly HttpVector[] = [
  ['models', 'GET /models'],
  ['credits', 'GET /credits'],
  ['a generation', 'GET /generations/@own-generation'],
  ['a cancel', 'POST /generations/@own-generation/cancel'],
].flatMap(([to, target]): readonly HttpVector[] => {
  const [method = '', path = ''] = (target as string).split(' ');
  const requestLine = `${method} /api/v1/developer${path} HTTP/1.1`;
  const taken = (name: string, more: Partial<HttpVector>): HttpVector => ({
    name: `${name} to ${to}`,
    requestLine,
    status: 200,
    code: 'OK',
    ...more,
  });
  const refused = (
    name: string,
    body: string,
    status: number,
    code: ErrorCode,
    more: Partial<HttpVector> = {},
  ): HttpVector => ({ name: `${name} to ${to}`, requestLine, body, status, code, ...more });
  return [
    taken('no body', { framing: [], body: '' }),
    taken('no bytes', { body: '' }),
    taken('no bytes and no type', { body: '', headers: [AUTHORIZATION] }),
    taken('no bytes in chunks', { framing: ['Transfer-Encoding: chunked'], body: '0\r\n\r\n' }),
    taken('an empty object', { body: ' {} ' }),
    refused('an object with a field', '{"a/b":1}', 422, 'FIELD_INVALID', {
      says: 'This operation takes no body: unknown field "a/b".',
    }),
    refused('an object with a null field', '{"a":null}', 422, 'FIELD_INVALID'),
    refused('__proto__', '{"__proto__":{}}', 422, 'FIELD_INVALID'),
    refused('a list', '[]', 422, 'FIELD_INVALID'),
    refused('null', 'null', 422, 'FIELD_INVALID'),
    refused('a word', 'hello', 400, 'BODY_INVALID'),
    refused('half an object', '{"a":', 400, 'BODY_INVALID'),
    refused('a field twice', '{"a":1,"a":1}', 400, 'BODY_INVALID'),
    refused('an empty object as a form', '{}', 415, 'MEDIA_TYPE_UNSUPPORTED', {
      headers: [AUTHORIZATION, 'Content-Type: application/x-www-form-urlencoded'],
    }),
    taken('an empty object in 1 KiB', { body: '{}'.padEnd(1_024) }),
    refused('a byte more than 1 KiB', '{}'.padEnd(1_025), 413, 'BODY_TOO_LARGE'),
    refused('3 MiB', 'x'.repeat(3 * 1024 * 1024), 413, 'BODY_TOO_LARGE'),
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
