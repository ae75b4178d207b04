import * as http from 'node:http';
import * as https from 'node:https';
import { StoreUnavailable } from '../../core/errors.js';

/** Idle connections are closed before a server would, so that no request meets one that is about to close. */
const IDLE_CONNECTION_MS = 4_000;
/** More requests than this wait for a connection, within the timeout. */
const MAX_CONNECTIONS = 128;
const OVERLOADED = [408, 429, 499];

export interface TransportOptions {
  readonly endpoint: URL;
  /** The longest wait without a sign of life. */
  readonly timeoutMs: number;
}

type Answered = (answer: http.IncomingMessage) => void;

/**
 * Requests with a bound on every wait: for a connection, for it to open, for the server to take or to send the next
 * bytes. The S3 client sends everything through here, as it has no limits itself. A server's answer that it is
 * unavailable becomes `StoreUnavailable` here already: the client would drop such an answer without reading or closing
 * it.
 */
export function s3Transport({ endpoint, timeoutMs }: TransportOptions): Pick<typeof http, 'request'> {
  const isSecure = endpoint.protocol === 'https:';
  const limits = { keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_CONNECTION_MS };
  const agent = isSecure ? new https.Agent(limits) : new http.Agent(limits);
  const silent = () =>
    new StoreUnavailable(`The object store at ${endpoint.origin} did not answer within ${timeoutMs} ms.`);

  const request = (options: https.RequestOptions, answered?: Answered): http.ClientRequest => {
    const sent = (isSecure ? https : http).request({ ...options, agent, timeout: timeoutMs });
    const waiting = setTimeout(() => sent.destroy(silent()), timeoutMs);
    sent.once('socket', () => {
      clearTimeout(waiting);
    });
    sent.once('close', () => {
      clearTimeout(waiting);
    });
    let body: http.IncomingMessage | undefined;
    sent.on('timeout', () => {
      (body ?? sent).destroy(silent());
    });
    sent.once('response', (answer) => {
      const status = answer.statusCode ?? 0;
      if ((status >= 500 && status !== 501) || OVERLOADED.includes(status)) {
        sent.emit('error', new StoreUnavailable(`The object store at ${endpoint.origin} answers ${status}.`));
        answer.destroy();
        return;
      }
      body = answer;
      answered?.(answer);
    });
    return sent;
  };
  // The client calls it in this one of its forms.
  return { request: request as typeof http.request };
}
