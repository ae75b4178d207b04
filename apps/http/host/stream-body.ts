import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { HttpContext } from './http-context.js';

export interface StreamedBody {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array | string> | Uint8Array | undefined;
}

/**
 * Answers with a streamed body. Resolves when all of it is handed over, or the client has disconnected: then the source
 * of the body is ended. A body that fails midway destroys the connection, since the status was already sent.
 */
export async function streamBody(ctx: HttpContext, { status, headers, body }: StreamedBody): Promise<void> {
  const { res } = ctx;
  ctx.status = status;
  for (const name in headers) res.setHeader(name, headers[name] as string);
  // Not before: an invalid status or header throws, and the error must be answered.
  ctx.respond = false;
  if (body === undefined || body instanceof Uint8Array) {
    res.end(body);
    return;
  }
  try {
    await pipeline(Readable.from(body, { objectMode: false }), res);
  } catch {
    res.destroy();
  }
}
