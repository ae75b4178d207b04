// Goal: a lookup whose name server does not answer delays no other lookup and lasts no longer than a request waits for
// it, and an operator's own names resolve as the machine resolves them.
// Method: a name server on the loopback that gives the test's answers, or none.
import { expect } from 'chai';
import { createSocket, type Socket } from 'node:dgram';
import { once, setMaxListeners } from 'node:events';
import { AllowList } from '../../../adapters/http/allow-list.js';
import { byNameServers } from '../../../adapters/http/connections.js';
import { until } from '../../fixtures/clocks.js';

const [A, AAAA] = [1, 28];
const NOT_FOUND = 3;

/** A name server's answer for a name: addresses of a type, no such name, or nothing at all. */
type Zone = (name: string, type: number) => readonly number[] | 'none' | 'silence';

class NameServer {
  readonly asked: string[] = [];

  private constructor(
    private readonly socket: Socket,
    private readonly zone: Zone,
  ) {
    socket.on('message', (query, { port }) => {
      const answer = this.answer(query);
      if (answer !== undefined) socket.send(answer, port, '127.0.0.1');
    });
  }

  static async open(zone: Zone): Promise<NameServer> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new NameServer(socket, zone);
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  close(): void {
    this.socket.close();
  }

  /** One question comes, and one record of its name and type goes back. */
  private answer(query: Buffer): Buffer | undefined {
    const labels: string[] = [];
    let at = 12;
    for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
      labels.push(query.subarray(at + 1, at + 1 + size).toString());
      at += size + 1;
    }
    const question = query.subarray(12, at + 5);
    const type = query.readUInt16BE(at + 1);
    const name = labels.join('.');
    this.asked.push(`${name} ${type}`);
    const found = this.zone(name, type);
    if (found === 'silence') return undefined;
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x81_80 | (found === 'none' ? NOT_FOUND : 0), 2);
    header.writeUInt16BE(1, 4);
    if (found === 'none' || found.length === 0) return Buffer.concat([header, question]);
    header.writeUInt16BE(1, 6);
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, found.length, ...found]);
    return Buffer.concat([header, question, record]);
  }
}

const V4 = [93, 184, 215, 14] as const;
const FOUND_V4 = { address: '93.184.215.14', family: 4 };

describe('names that clients choose', () => {
  const opened: NameServer[] = [];
  afterEach(() => opened.splice(0).forEach((server) => server.close()));

  async function resolving(
    zone: Zone,
    {
      listed = [],
      system = async () => [],
    }: {
      readonly listed?: readonly string[];
      readonly system?: Parameters<typeof byNameServers>[0]['system'];
    } = {},
  ) {
    const server = await NameServer.open(zone);
    opened.push(server);
    const resolve = byNameServers({
      allow: new AllowList(listed),
      servers: [server.address],
      ...(system === undefined ? {} : { system }),
    });
    return { server, resolve };
  }

  it('have all addresses that a name server knows, of both kinds', async () => {
    const v6 = [0x26, 0x06, 0x47, 0, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11];
    const both = await resolving((_, type) => (type === AAAA ? v6 : V4));
    expect(await both.resolve('both.example')).to.deep.equal([
      { address: '2606:4700:4700::1111', family: 6 },
      FOUND_V4,
    ]);
    const one = await resolving((_, type) => (type === A ? V4 : []));
    expect(await one.resolve('one.example')).to.deep.equal([FOUND_V4]);
    const none = await resolving(() => 'none');
    expect(await none.resolve('none.example')).to.deep.equal([]);
  });

  it('are found while the name servers of a hundred others do not answer', async () => {
    const { server, resolve } = await resolving((name, type) => {
      if (name.startsWith('slow')) return 'silence';
      return type === A ? V4 : [];
    });
    let ended = 0;
    const slow = Array.from({ length: 100 }, (_, index) => resolve(`slow-${index}.example`).catch(() => (ended += 1)));
    while (server.asked.length < 200) await resolve(`fast-${server.asked.length}.example`);
    expect(await resolve('fast.example')).to.deep.equal([FOUND_V4]);
    expect(ended).to.equal(0);
    void Promise.all(slow);
  });

  it('are the machine’s to find where the operator lists the host, and are asked of nobody else', async () => {
    const asked: string[] = [];
    const system = async (name: string) => {
      asked.push(name);
      return [{ address: '10.0.0.1', family: 4 }];
    };
    const { server, resolve } = await resolving(() => V4, { listed: ['app.example:8443'], system });
    expect(await resolve('app.example')).to.deep.equal([{ address: '10.0.0.1', family: 4 }]);
    expect(await resolve('other.example')).to.deep.include(FOUND_V4);
    expect(await resolve('intranet')).to.deep.equal([]);
    expect(asked).to.deep.equal(['app.example']);
    expect(server.asked.some((one) => one.startsWith('app.example'))).to.equal(false);
  });

  it('may be of a listed network, which no name server knows, one at a time', async () => {
    let [under, most] = [0, 0];
    const waiting: (() => void)[] = [];
    const system = async () => {
      under += 1;
      most = Math.max(most, under);
      await new Promise<void>((resolve) => void waiting.push(resolve));
      under -= 1;
      return [{ address: '10.0.0.1', family: 4 }];
    };
    const { resolve } = await resolving(() => 'none', { listed: ['10.0.0.0/8'], system });
    let found = 0;
    const all = ['a.example', 'b.example', 'intranet', 'c.internal'].map(async (name) => {
      expect(await resolve(name)).to.deep.equal([{ address: '10.0.0.1', family: 4 }]);
      found += 1;
    });
    while (found < all.length) {
      waiting.shift()?.();
      await new Promise(setImmediate);
    }
    await Promise.all(all);
    expect(most).to.equal(1);
  });

  it('are asked for no longer than somebody waits for them', async () => {
    const { server, resolve } = await resolving(() => 'silence');
    const closed = new AbortController();
    const asking = resolve('slow.example', closed.signal).catch((error: unknown) => error);
    await until(() => server.asked.length === 2);
    closed.abort();
    expect(await asking).to.include({ code: 'ECANCELLED' });
    const late = await resolve('slow.example', closed.signal).catch((error: unknown) => error);
    expect([(late as Error).name, server.asked.length]).to.deep.equal(['AbortError', 2]);
  });

  it('wait for the machine up to a number, and for no longer than somebody waits for them', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const system = async (name: string) => {
      begun.push(name);
      await new Promise<void>((resolve) => void ends.push(resolve));
      return [FOUND_V4];
    };
    const { resolve } = await resolving(() => 'none', { listed: ['10.0.0.0/8'], system });
    const closed = new AbortController();
    setMaxListeners(0, closed.signal);
    const ask = (name: string) => resolve(name, closed.signal).catch((error: unknown) => error);
    const asking = Array.from({ length: 257 }, (_, index) => ask(`intranet-${index}`));
    await until(() => begun.length === 1);
    expect(await ask('one-more')).to.include({ code: 'EAI_AGAIN' });
    closed.abort();
    const ended = await Promise.all(asking.slice(1));
    expect(new Set(ended.map((error) => (error as Error).name))).to.deep.equal(new Set(['AbortError']));
    const next = resolve('next');
    await new Promise(setImmediate);
    expect(begun, 'the machine still resolves the first one').to.deep.equal(['intranet-0']);
    ends.shift()?.();
    expect(await asking[0]).to.deep.equal([FOUND_V4]);
    await until(() => begun.length === 2);
    ends.shift()?.();
    expect(await next).to.deep.equal([FOUND_V4]);
  });
});
