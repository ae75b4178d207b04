import { randomUUID } from 'node:crypto';

/** Where a request goes, and as whom. */
export interface Target {
  readonly path: string;
  readonly credential: string;
}

/** The requests of one slice. Every request is the same but for its target, and its Idempotency-Key where it carries one. */
export interface RequestKind {
  readonly method: 'GET' | 'POST';
  /** One is drawn at random for each request. */
  readonly targets: readonly Target[];
  readonly body?: string;
  readonly isKeyed: boolean;
  /** The only status that is right. */
  readonly status: number;
}

/** A request as it goes over the wire, and where to. */
export interface WrittenRequest {
  readonly text: string;
  readonly target: Target;
}

/** Writes requests. Bodies are ASCII. */
export function requestWriter({ method, targets, body, isKeyed }: RequestKind): () => WrittenRequest {
  const fixed = [
    'Host: 127.0.0.1',
    'Accept: application/json',
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ].join('\r\n');
  return () => {
    const target = targets[Math.floor(Math.random() * targets.length)];
    if (target === undefined) throw new Error('There is nothing to ask for.');
    const key = isKeyed ? `\r\nIdempotency-Key: ${randomUUID()}` : '';
    return { target, text: `${method} ${target.path} HTTP/1.1\r\n${fixed}\r\nAuthorization: Bearer ${target.credential}${key}\r\n\r\n${body ?? ''}` };
  };
}
