import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Endpoint } from '../target.js';

/** A proxy made no connection to the target: nothing of the request was sent to it. The code begins with `PROXY_`. */
export class ProxyFailure extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
    this.name = 'ProxyFailure';
  }
}

const MAX_HEADER_BYTES = 16 * 1024;
const TIMED_OUT = 'UND_ERR_CONNECT_TIMEOUT';

/**
 * Has a proxy, at the other end of a connection, connect it to the target with CONNECT. Throws `ProxyFailure` for any answer
 * but success, and destroys the connection then.
 */
export async function openTunnel(
  socket: Socket,
  { hostname, port }: Endpoint,
  authorization: string | undefined,
  timeoutMs: number,
): Promise<void> {
  const authority = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
  const request = httpRequest({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
    createConnection: () => socket,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const timer = setTimeout(
    () => request.destroy(Object.assign(new Error('The proxy took too long.'), { code: TIMED_OUT })),
    timeoutMs,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      request.once('error', reject);
      request.once('connect', ({ statusCode = 0 }, _, head: Buffer) => {
        if (statusCode < 200 || statusCode > 299)
          reject(new ProxyFailure(`The proxy answered with ${statusCode}.`, `PROXY_ANSWERED_${statusCode}`));
        // Nothing speaks before it is spoken to, in TLS and in HTTP.
        else if (head.byteLength > 0)
          reject(new ProxyFailure('The proxy sent more than its answer.', 'PROXY_ANSWER_INVALID'));
        else resolve();
      });
      request.end();
    });
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** What prevented a connection through a proxy, as a failure of the proxy. A time that was exceeded stays what it is. */
export function proxyFailure(error: unknown): Error {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (error instanceof ProxyFailure || (error instanceof Error && code === TIMED_OUT)) return error;
  const named = typeof code === 'string' ? code : 'UNREACHABLE';
  return new ProxyFailure('The proxy cannot be used.', `PROXY_${named}`);
}
