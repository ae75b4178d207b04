import { once } from 'node:events';
import { Agent, createServer, request as sendRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * How an object store in trouble answers: it asks to slow down, it fails, it takes half of what it is sent, or it gives half
 * of what it should.
 */
export type Trouble = 'slow-down' | 'internal-error' | 'half-requests' | 'half-answers';

const REFUSALS = {
  'slow-down': { status: 503, body: '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>' },
  'internal-error': { status: 500, body: '<?xml version="1.0" encoding="UTF-8"?><Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>' },
} as const;

/**
 * An HTTP proxy in front of an object store, which every second request finds in trouble. It passes on methods, paths,
 * headers and bodies as they are, Host among them: signatures cover it.
 */
export class TroubledS3 {
  private trouble: Trouble | undefined;
  private requests = 0;
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

  /** From the next request on; undefined is well again. */
  suffer(trouble: Trouble | undefined): void {
    this.trouble = trouble;
  }

  async close(): Promise<void> {
    this.agent.destroy();
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1;
    const trouble = this.requests % 2 === 0 ? this.trouble : undefined;
    if (trouble === 'slow-down' || trouble === 'internal-error') refuse(request, response, trouble);
    else this.pass(request, response, trouble);
  }

  private pass(request: IncomingMessage, response: ServerResponse, trouble: 'half-requests' | 'half-answers' | undefined): void {
    const { method, url, headers } = request;
    const upstream = sendRequest({ host: '127.0.0.1', port: this.upstreamPort, agent: this.agent, method, path: url, headers, setHost: false });
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

function refuse(request: IncomingMessage, response: ServerResponse, trouble: keyof typeof REFUSALS): void {
  const { status, body } = REFUSALS[trouble];
  request.resume();
  request.on('end', () => response.writeHead(status, { 'Content-Type': 'application/xml', 'Content-Length': Buffer.byteLength(body) }).end(body));
}

/** Passes on half of what was announced and breaks the connection; a message without a body is passed on whole. */
function passHalf(from: IncomingMessage, to: NodeJS.WritableStream, cut: () => void): void {
  const announced = Number(from.headers['content-length'] ?? 0);
  if (announced === 0) {
    from.pipe(to);
    return;
  }
  let left = Math.floor(announced / 2);
  from.on('data', (chunk: Buffer) => {
    to.write(chunk.subarray(0, left));
    left -= chunk.byteLength;
    // What was written is on its way before the connection breaks.
    if (left <= 0) setImmediate(cut);
  });
}
