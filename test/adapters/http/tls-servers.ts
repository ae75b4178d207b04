import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, type HttpClientOptions } from '../../../adapters/http/http-client.js';
import { Authority, type Pair } from '../../fixtures/authority.js';
import { type Closing, listening } from '../../fixtures/opened.js';

export type Answering = (path: string, response: ServerResponse) => void;

export interface TlsServer {
  readonly port: number;
  /** The requests it received, in order. */
  readonly asked: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
}

/** Servers on the loopback with certificates of a private authority, and clients that trust it. */
export class TlsServers {
  private readonly opened: Closing[] = [];

  private constructor(
    readonly folder: string,
    readonly authority: Authority,
    /** The certificate for one.example and two.example. */
    readonly pair: Pair,
  ) {}

  /** Rejects with `ServerAbsent` where there is no openssl. */
  static async make(): Promise<TlsServers> {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-http-'));
    const authority = await Authority.make(folder, 'test-authority');
    const names = ['DNS:one.example', 'DNS:two.example'];
    return new TlsServers(
      folder,
      authority,
      authority.issue({ names, commonName: 'one.example', usage: 'serverAuth' }),
    );
  }

  async serving(answer: Answering, { cert, key }: Pair = this.pair): Promise<TlsServer> {
    const asked: TlsServer['asked'] = [];
    const server = createServer({ cert, key }, ({ url = '', headers }, response) => {
      asked.push({ path: url, headers });
      answer(url, response);
    });
    return { port: this.keep(await listening(server)).port, asked };
  }

  /** Every name leads to the loopback. */
  client(options: HttpClientOptions = {}): HttpClient {
    return this.keep(
      new HttpClient({
        allow: ['127.0.0.0/8'],
        extraCa: [this.authority.cert.toString()],
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
        ...options,
      }),
    );
  }

  /** It is closed after the test. */
  keep<T extends Closing>(one: T): T {
    this.opened.push(one);
    return one;
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.splice(0).map((one) => one.close()));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const ok: Answering = (_, response) => void response.end('ok');

/** Answers with a redirect. */
export function to(location: string, status = 302): Answering {
  return (_, response) => void response.writeHead(status, { location }).end();
}
