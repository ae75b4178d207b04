import type { SignedObjectRequest, SignedObjectResponse as Response } from '../signed-object-gate.js';

export type { SignedObjectRequest };

export interface SignedObjectResponse extends Response {
  /** Holds a file open until it is read to its end or left by `return()`. */
  readonly body?: AsyncIterable<Uint8Array>;
}

/**
 * On every answer. Any origin may use a signed address, as the signature authorises it, not a cookie; and no served
 * content may execute, whatever its bytes are.
 */
const ALWAYS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
} as const;

export function answer(
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body?: AsyncIterable<Uint8Array>,
): SignedObjectResponse {
  return { status, headers: { ...ALWAYS, ...headers }, ...(body === undefined ? {} : { body }) };
}

/** A refusal with one plain sentence. */
export function refusal(
  status: number,
  sentence: string,
  headers: Readonly<Record<string, string>> = {},
): SignedObjectResponse {
  const bytes = new TextEncoder().encode(`${sentence}\n`);
  const described = {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(bytes.byteLength),
    ...headers,
  };
  return answer(
    status,
    described,
    (async function* once() {
      yield bytes;
    })(),
  );
}
