import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FakeAnswer } from './fake-answer.js';
import { fakeTime, withoutSecrets, type FakeRequest, type LoggedRequest, type RequestRecord } from './fake-request.js';
import { FaultInPlay, type Fault, type FaultMatch, type PlannedFault } from './faults.js';
import { kindsOf, routeOf, type FakeRoute } from './routes.js';
import { serveRequest } from './serve-request.js';

export type { FakeRequest, LoggedRequest } from './fake-request.js';
export type { CallKind, Fault, FaultMatch, PlannedFault } from './faults.js';
export type { FakeAnswer } from './fake-answer.js';
export type { FakeRoute } from './routes.js';

export interface FakeServerOptions {
  /** Answers requests that match no route; 404 without a body when absent. */
  readonly otherwise?: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>;
  /** The limit of a request's body; a larger one is answered with 413. 64 MiB when absent. */
  readonly maxBodyBytes?: number;
  /** How much of each body the log keeps; 1 MiB when absent. */
  readonly maxLoggedBytes?: number;
  /** A key and a certificate in PEM: the server then speaks TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Takes over connections that ask for another protocol, such as WebSocket; refused when absent. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/**
 * The base of fakes of vendors: a real HTTP server on a free port of 127.0.0.1. It logs every request, counts
 * submissions, and lets the next matching request meet a fault. Nothing in it is random or waits for a time that a test
 * has not given.
 */
export class FakeServer {
  /** Every request whose headers have come, in order. */
  readonly requests: readonly LoggedRequest[];
  /** Connections that were opened to it. */
  connections = 0;
  /** The errors that handlers threw; each was answered with 500. */
  readonly failures: unknown[] = [];
  private readonly records: RequestRecord[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly planned: FaultInPlay[] = [];
  private readonly inPlay = new Set<FaultInPlay>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly awaited = new Set<(record: RequestRecord) => void>();

  private constructor(
    private readonly server: Server,
    private readonly routes: readonly FakeRoute[],
    private readonly options: FakeServerOptions,
    readonly port: number,
  ) {
    this.requests = this.records;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      const serving = this.serve(message, response).finally(() => this.underWay.delete(serving));
      this.underWay.add(serving);
    });
    if (options.onUpgrade !== undefined) server.on('upgrade', options.onUpgrade);
  }

  static async open(routes: readonly FakeRoute[], options: FakeServerOptions = {}): Promise<FakeServer> {
    const { tls } = options;
    const server = tls === undefined ? createServer() : createTlsServer(tls);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new FakeServer(server, routes, options, (server.address() as AddressInfo).port);
  }

  /** Its origin, without a slash at the end; also once it is closed, and nothing listens there. */
  get url(): string {
    return `${this.options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.port}`;
  }

  /** How many submissions have come, also those that were cut, refused or never handled. */
  get posts(): number {
    return this.records.filter(({ of }) => of.includes('submit')).length;
  }

  /** How often a submission was handled. */
  get handledPosts(): number {
    return this.records
      .filter(({ of }) => of.includes('submit'))
      .reduce((sum, { timesHandled }) => sum + timesHandled, 0);
  }

  /** The next request that matches, and that no fault planned before takes, meets this fault. */
  plan(fault: Fault, match: FaultMatch = {}): PlannedFault {
    const planned = new FaultInPlay(fault, match);
    this.planned.push(planned);
    return planned;
  }

  /** Takes back the faults that no request has met: these, or all. */
  forgetFaults(which: readonly PlannedFault[] = this.planned): void {
    const forgotten = new Set(which);
    this.planned.splice(0, this.planned.length, ...this.planned.filter((planned) => !forgotten.has(planned)));
  }

  /** Resolves with the next request that matches, as soon as its headers have arrived. The object is updated later. */
  arrival(match: FaultMatch = {}): Promise<LoggedRequest> {
    return new Promise((resolve) => {
      const look = (record: RequestRecord) => {
        if (!isMatch(match, record)) return;
        this.awaited.delete(look);
        resolve(record);
      };
      this.awaited.add(look);
    });
  }

  /**
   * Resolves when no request is being read, handled or answered. One that hangs is not; one that waits for its release
   * is.
   */
  async settled(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  /** Closes every connection and stops listening. Requests that wait in a fault are abandoned. */
  async close(): Promise<void> {
    this.forgetFaults();
    for (const planned of this.inPlay) planned.finish();
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = message;
    const { pathname: path, search: query } = new URL(message.url ?? '/', 'http://fake');
    const matched = routeOf(this.routes, method, path);
    const record: RequestRecord = {
      method,
      path,
      query,
      of: kindsOf(matched?.route),
      arrivedAt: fakeTime(),
      handledAt: [],
      headers: withoutSecrets(headers),
      body: Buffer.alloc(0),
      isWhole: false,
      timesHandled: 0,
      answers: [],
    };
    this.records.push(record);
    for (const look of this.awaited) look(record);
    const planned = this.takeFault(record);
    if (planned !== undefined) {
      record.fault = planned.fault;
      this.inPlay.add(planned);
    }
    const {
      otherwise = () => ({ status: 404 }),
      maxBodyBytes = 64 * MEBIBYTE,
      maxLoggedBytes = MEBIBYTE,
    } = this.options;
    try {
      await serveRequest({
        message,
        response,
        record,
        planned,
        params: matched?.params ?? {},
        handle: async (request) => (matched === undefined ? otherwise(request) : matched.route.handle(request)),
        maxBodyBytes,
        maxLoggedBytes,
      });
    } catch (error) {
      this.failures.push(error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    } finally {
      planned?.finish();
      if (planned !== undefined) this.inPlay.delete(planned);
    }
  }

  private takeFault(record: RequestRecord): FaultInPlay | undefined {
    const at = this.planned.findIndex(({ match }) => isMatch(match, record));
    return at < 0 ? undefined : this.planned.splice(at, 1)[0];
  }
}

function isMatch(match: FaultMatch, { of, method, path }: RequestRecord): boolean {
  if (match.of !== undefined && !of.includes(match.of)) return false;
  return (match.method ?? method) === method && (match.path?.test(path) ?? true);
}

const MEBIBYTE = 1024 * 1024;
