import { randomUUID } from 'node:crypto';

/** The requests of one slice. Every request is the same but for its path, and its Idempotency-Key where it carries one. */
export interface RequestKind {
  readonly method: 'GET' | 'POST';
  /** One is drawn at random for each request. */
  readonly paths: readonly string[];
  readonly credential: string;
  readonly body?: string;
  readonly isKeyed: boolean;
  /** The only status that is right. */
  readonly status: number;
}

/** Writes requests as they go over the wire. Bodies are ASCII. */
export function requestWriter({ method, paths, credential, body, isKeyed }: RequestKind): () => string {
  const fixed = [
    'Host: 127.0.0.1',
    `Authorization: Bearer ${credential}`,
    'Accept: application/json',
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ].join('\r\n');
  return () => {
    const path = paths[Math.floor(Math.random() * paths.length)] ?? '/';
    const key = isKeyed ? `\r\nIdempotency-Key: ${randomUUID()}` : '';
    return `${method} ${path} HTTP/1.1\r\n${fixed}${key}\r\n\r\n${body ?? ''}`;
  };
}
