import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { READY, readyWhile, UP } from '../../readiness.js';
import { Listening } from '../host/server.js';

export interface InternalServerOptions {
  /** Whether the database responds; checked for `/readyz`, one check at a time. */
  readonly readiness: () => Promise<boolean>;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
}

export interface InternalServer extends Pick<Listening, 'listen' | 'close'> {
  /** From now on the process is not ready, but still alive. */
  stopping(): void;
}

interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

type Pages = ReadonlyMap<string, () => Promise<Page>>;

/** A few probes and a scraper or two; any further connection is refused. */
const MAX_CONNECTIONS = 32;
const MAX_HEADER_BYTES = 8 * 1024;
const REQUEST_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 15_000;

/**
 * Serves the operators' endpoints of the process: `/livez`, `/readyz` and `/metrics`, for every role alike. Nothing
 * listens before `listen`.
 */
export function createInternalServer({ readiness, metrics }: InternalServerOptions): InternalServer {
  let isStopping = false;
  const isReady = readyWhile({ readiness, isStopping: () => isStopping });
  const listening = new Listening(createHttpServer(pagesOf(isReady, metrics)), 'internal');
  return {
    listen: (host, port) => listening.listen(host, port),
    stopping: () => {
      isStopping = true;
    },
    close: (graceMs) => listening.close(graceMs),
  };
}

function pagesOf(isReady: () => Promise<boolean>, metrics: InternalServerOptions['metrics']): Pages {
  return new Map([
    ['/livez', async () => json(200, UP)],
    ['/readyz', async () => ((await isReady()) ? json(200, READY) : json(503, { status: 'not ready' }))],
    ['/metrics', async () => ({ status: 200, contentType: metrics.contentType, text: await metrics.text() })],
  ]);
}

function json(status: number, value: object): Page {
  return { status, contentType: 'application/json; charset=utf-8', text: JSON.stringify(value) };
}

function createHttpServer(pages: Pages): Server {
  const server: Server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
    },
    (req, res) => void serve(pages, req, res, () => !server.listening),
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(IDLE_TIMEOUT_MS);
  return server;
}

async function serve(pages: Pages, req: IncomingMessage, res: ServerResponse, isClosing: () => boolean): Promise<void> {
  const { status, contentType, text } = await pageFor(pages, req).catch(() => json(500, { status: 'failed' }));
  if (status === 405) res.setHeader('Allow', 'GET, HEAD');
  // No page here takes a body, and the server does not wait for one; nor for a next request once it is closing.
  if (hasBody(req) || isClosing()) res.setHeader('Connection', 'close');
  res.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  res.end(req.method === 'HEAD' ? undefined : text);
}

async function pageFor(pages: Pages, { method, url = '' }: IncomingMessage): Promise<Page> {
  const page = pages.get(url.split('?', 1)[0] ?? '');
  if (page === undefined) return json(404, { status: 'no such page' });
  if (method !== 'GET' && method !== 'HEAD') return json(405, { status: 'this page supports only GET' });
  return page();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
