import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as sendRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Exchange, Span } from '../../history/recorded/history.js';
import { LEASE_MS } from './settings.js';

/**
 * How an object store in trouble behaves: it asks to slow down, it fails, it accepts only half of a request, or it
 * returns half of an answer.
 */
export type Trouble = 'slow-down' | 'internal-error' | 'half-requests' | 'half-answers';

const REFUSALS = {
  'slow-down': {
    status: 503,
    body: '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
  },
  'internal-error': {
    status: 500,
    body: '<?xml version="1.0" encoding="UTF-8"?><Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>',
  },
} as const;

/** A trouble under way. */
export interface Suffering {
  readonly trouble: Trouble;
  /** Requests that could have met the trouble, and those that did: every second one. */
  met: number;
  hits: number;
}

/**
 * An HTTP proxy in front of an object store, which applies one of its troubles to every second matching request. It
 * forwards methods, paths, headers and bodies unchanged, including Host, because signatures cover it.
 */
export class TroubledS3 {
  private readonly sufferings = new Set<Suffering>();
  private readonly agent = new Agent({ keepAlive: true });
  private readonly server: Server;

  private constructor(private readonly upstreamPort: number) {
    this.server = createServer((request, response) => this.serve(request, response));
    this.server.on('clientError', (_, socket) => socket.destroy());
  }

  static async open(upstreamPort: number): Promise<TroubledS3> {
    const proxy = new TroubledS3(upstreamPort);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Applies to the next request and later ones, in addition to other troubles, until `cured`. */
  suffer(trouble: Trouble): Suffering {
    const suffering = { trouble, met: 0, hits: 0 };
    this.sufferings.add(suffering);
    return suffering;
  }

  cure(suffering: Suffering): void {
    this.sufferings.delete(suffering);
  }

  async close(): Promise<void> {
    this.agent.destroy();
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    const trouble = this.troubleOf(request);
    if (trouble === 'slow-down' || trouble === 'internal-error') refuse(request, response, trouble);
    else this.pass(request, response, trouble);
  }

  /** The first trouble whose turn it is: a request may match several, but meets one. */
  private troubleOf(request: IncomingMessage): Trouble | undefined {
    for (const suffering of this.sufferings) {
      if (!isFor(suffering.trouble, request)) continue;
      suffering.met += 1;
      if (suffering.met % 2 !== 0) continue;
      suffering.hits += 1;
      return suffering.trouble;
    }
    return undefined;
  }

  private pass(
    request: IncomingMessage,
    response: ServerResponse,
    trouble: 'half-requests' | 'half-answers' | undefined,
  ): void {
    const { method, url, headers } = request;
    const upstream = sendRequest({
      host: '127.0.0.1',
      port: this.upstreamPort,
      agent: this.agent,
      method,
      path: url,
      headers,
      setHost: false,
    });
    const cut = () => {
      upstream.destroy();
      request.socket.destroy();
    };
    upstream.on('error', cut);
    request.on('error', cut);
    response.on('error', cut);
    upstream.on('response', (answer) => {
      answer.on('error', cut);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (trouble === 'half-answers') passHalf(answer, response, cut);
      else answer.pipe(response);
    });
    if (trouble === 'half-requests') passHalf(request, upstream, cut);
    else request.pipe(upstream);
  }
}

/** A request without a body cannot be halved. */
function isFor(trouble: Trouble, { method, headers }: IncomingMessage): boolean {
  switch (trouble) {
    case 'half-requests':
      return Number(headers['content-length'] ?? 0) > 1;
    case 'half-answers':
      return method === 'GET';
    case 'slow-down':
    case 'internal-error':
      return true;
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, trouble: keyof typeof REFUSALS): void {
  const { status, body } = REFUSALS[trouble];
  request.resume();
  request.on('end', () =>
    response
      .writeHead(status, { 'Content-Type': 'application/xml', 'Content-Length': Buffer.byteLength(body) })
      .end(body),
  );
}

/** Forwards half of the announced length and breaks the connection; a message without a body is forwarded whole. */
function passHalf(from: IncomingMessage, to: NodeJS.WritableStream, cut: () => void): void {
  const announced = Number(from.headers['content-length'] ?? 0);
  if (announced === 0) {
    from.pipe(to);
    return;
  }
  let left = Math.floor(announced / 2);
  from.on('data', (chunk: Buffer) => {
    to.write(chunk.subarray(0, Math.max(0, left)));
    left -= chunk.byteLength;
    // The data already written is sent before the connection breaks.
    if (left <= 0) setImmediate(cut);
  });
}

interface Line {
  readonly time: number;
  readonly pid: number;
  readonly msg?: string;
  readonly store?: string;
  readonly awayMs?: number;
  readonly err?: { readonly type?: string };
}

/**
 * Periods in which stores did not answer in time, from the log of a process: outages from their beginning to their end,
 * and single failures outside one. An outage that its process did not survive ends with the last log line.
 */
export function storeTroubles(log: string): Span[] {
  const lines = log.split('\n').flatMap(parsed);
  const lastOf = new Map(lines.map(({ pid, time }) => [pid, time]));
  return lines.flatMap((line): Span[] => {
    if (line.err?.type === 'StoreUnavailable') return [{ from: line.time, until: line.time }];
    if (line.msg !== 'store away') return [];
    const ended = lines.find((end) => isEndOf(end, line));
    return [
      {
        from: line.time,
        until: ended?.awayMs === undefined ? (lastOf.get(line.pid) ?? line.time) : line.time + ended.awayMs,
      },
    ];
  });
}

function isEndOf({ msg, pid, store, time }: Line, began: Line): boolean {
  return (
    (msg === 'store back' || msg === 'store still away') &&
    pid === began.pid &&
    store === began.store &&
    time >= began.time
  );
}

/** A killed process may leave half a line, and prints some text before it starts logging. */
function parsed(text: string): Line[] {
  if (!text.startsWith('{')) return [];
  try {
    return [JSON.parse(text) as Line];
  } catch {
    return [];
  }
}

/** Half of a worker's lease, in milliseconds. */
export const SLOW_ANSWER_MS = LEASE_MS / 2;

/**
 * Periods in which answers to clients took so long that leases and calls to vendors may have timed out as well. Clients
 * measure it, rather than the program. On a machine with time for all processes, only faults make answers that slow.
 */
export function slowAnswers(exchanges: readonly Pick<Exchange, 'sentAt' | 'answered'>[]): Span[] {
  return exchanges.flatMap(({ sentAt, answered }) =>
    answered === undefined || answered.at - sentAt < SLOW_ANSWER_MS ? [] : [{ from: sentAt, until: answered.at }],
  );
}
