import { expect } from 'chai';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LiveOptions, LiveService, type Tenant } from '../../service/live-service.js';
import { freePort } from '../../servers/free-port.js';
import { ServerProcess } from '../../servers/server-process.js';

/** The program as a process, for clients of OpenAI, and what each of them paid. */
export class ClientService {
  private readonly granted = new Map<Tenant, number>();

  private constructor(
    readonly live: LiveService,
    private readonly nginx?: ServerProcess,
  ) {}

  static async open(options: LiveOptions = {}): Promise<ClientService> {
    return new ClientService(await LiveService.start(options));
  }

  /**
   * With nginx in front, whose site is made of the URL of the program. Throws ServerAbsent where nginx is not on this
   * machine.
   */
  static async behindNginx(site: (upstream: string) => string): Promise<ClientService> {
    const port = await freePort();
    const live = await LiveService.start({
      config: { rest: { public_url: `http://127.0.0.1:${port}`, trusted_proxies: ['127.0.0.1'] } },
    });
    try {
      return new ClientService(live, await ServerProcess.start('nginx', { port, lines: site(live.url) }));
    } catch (error) {
      await live.remove();
      throw error;
    }
  }

  /** The origin for clients. */
  get origin(): string {
    return (this.nginx ?? this.live).url;
  }

  /** The base URL for clients. */
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  async tenant(credits = 100): Promise<Tenant> {
    const tenant = await this.live.tenant(credits);
    this.granted.set(tenant, credits);
    return tenant;
  }

  /**
   * Expects that the tenant paid exactly so many credits, and that the books are right. What a failed generation reserved
   * is released shortly after its end.
   */
  async expectPaid(tenant: Tenant, credits: number): Promise<void> {
    const client = this.live.client(tenant.secret);
    const expected = (this.granted.get(tenant) ?? 0) - credits;
    let balance = await client.balance();
    for (let tries = 0; balance < expected && tries < SETTLEMENT_TRIES; tries += 1) {
      await sleep(50);
      balance = await client.balance();
    }
    expect(balance, 'the balance').to.equal(expected);
    expect(await this.live.run('verify')).to.include({ code: 0, stderr: '' });
  }

  async close(): Promise<void> {
    await this.nginx?.stop();
    await this.live.remove();
  }
}

const SETTLEMENT_TRIES = 60;

/** Where a connection is cut: before anything of the answer was sent, or when the client has its first bytes. */
export type Cut = 'while it waits' | 'in the answer';

/** A TCP proxy that cuts the connection of one request, and passes everything else on. */
export class CuttingProxy {
  /** How many connections it has cut. */
  cuts = 0;
  private next: Cut | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly to: URL,
  ) {}

  static async open(to: string): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server, new URL(to));
    server.on('connection', (client) => proxy.pass(client));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Cuts the connection of the next request. */
  cutNext(where: Cut): void {
    this.next = where;
  }

  private pass(client: Socket): void {
    const upstream = connect(Number(this.to.port), this.to.hostname);
    const close = (): void => {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.on('error', close).once('close', () => this.sockets.delete(socket));
    }
    client.on('data', (bytes) => {
      upstream.write(bytes);
      if (this.next !== 'while it waits') return;
      this.next = undefined;
      this.cuts += 1;
      // By then the request has arrived and was accepted: the tests ask for pictures that take longer.
      setTimeout(close, CUT_AFTER_MS);
    });
    upstream.on('data', (bytes) => {
      client.write(bytes.subarray(0, this.next === undefined ? bytes.byteLength : FIRST_BYTES));
      if (this.next === undefined) return;
      this.next = undefined;
      this.cuts += 1;
      setTimeout(close, 50);
    });
    client.once('end', () => upstream.end());
    upstream.once('end', () => client.end());
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}

const CUT_AFTER_MS = 400;
/** The head of an answer and a little of its body. */
const FIRST_BYTES = 1_000;
