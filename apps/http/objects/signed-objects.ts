import { createRouter } from '../host/routing.js';
import type { HttpFront } from '../host/server.js';
import { streamBody } from '../host/stream-body.js';

/** One request to a signed address, as an object store's own gate takes it. */
export interface SignedObjectRequest {
  readonly method: string;
  /** Still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface SignedObjectResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array> | Uint8Array;
}

/** Serves `/objects/…` when the object store has no server of its own. Must not throw for what a client sent. */
export interface SignedObjectGate {
  handle(request: SignedObjectRequest): Promise<SignedObjectResponse>;
}

/** Serves `/objects/…`: hands every request to the gate and streams its answer. The signature stays out of the log. */
export function signedObjects(gate: SignedObjectGate): HttpFront {
  return () => [createRouter([{
    method: 'any',
    path: '/objects/{*key}',
    async serve(ctx) {
      const { req, res, state, method } = ctx;
      state.route = '/objects/:key';
      const { path, query } = state.target;
      const { status, headers, body } = await gate.handle({ method, path, query: new URLSearchParams(query), headers: req.headers, body: req });
      res.removeHeader('Content-Security-Policy');
      await streamBody(ctx, { status, headers, body });
    },
  }])];
}
