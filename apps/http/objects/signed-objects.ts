import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RestContext, RestMiddleware } from '../host/http-context.js';

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

const PREFIX = '/objects/';

/** Hands everything under `/objects/` to the gate and streams its answer; the signature stays out of the log. */
export function serveSignedObjects(gate: SignedObjectGate): RestMiddleware {
  return async (ctx, next) => {
    const { path, query } = ctx.state.target;
    if (!path.startsWith(PREFIX)) return next();
    ctx.state.route = `${PREFIX}:key`;
    const { method, req } = ctx;
    await stream(ctx, await gate.handle({ method, path, query: new URLSearchParams(query), headers: req.headers, body: req }));
  };
}

async function stream(ctx: RestContext, { status, headers, body }: SignedObjectResponse): Promise<void> {
  const { res } = ctx;
  ctx.respond = false;
  res.removeHeader('Content-Security-Policy');
  ctx.status = status;
  for (const name in headers) res.setHeader(name, headers[name] as string);
  if (body === undefined || body instanceof Uint8Array) {
    res.end(body);
    return;
  }
  try {
    await pipeline(Readable.from(body, { objectMode: false }), res);
  } catch {
    // The client went away, or the bytes ended early: the length that was promised tells the client.
    res.destroy();
  }
}
