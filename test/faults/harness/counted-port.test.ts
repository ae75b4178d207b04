import { expect } from 'chai';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { CountedPort, MOST_WAITING, ProcessorWaits } from './counted-port.js';

/**
 * Goal: the counting proxy between a process and its link changes nothing and counts what is sent; a machine that runs
 * too much at once is noticed. Method: an echo server behind the proxy, to which connections send data and which they
 * end or reset; waits for a processor as a kernel would report them.
 */

describe('a counted port', () => {
  let echo: Server;
  let behind: Socket[];
  let counted: CountedPort;

  beforeEach(async () => {
    behind = [];
    echo = createServer((socket) => {
      behind.push(socket);
      socket.on('error', () => undefined);
      socket.pipe(socket);
    });
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
    counted = await CountedPort.open((echo.address() as AddressInfo).port);
  });

  afterEach(async () => {
    await counted.close();
    for (const socket of behind) socket.destroy();
    echo.close();
  });

  async function said(client: Socket, text: string): Promise<string> {
    client.write(text);
    const [data] = (await once(client, 'data')) as [Buffer];
    return data.toString();
  }

  it('passes on what is sent and answered, and counts the first', async () => {
    const client = connect({ host: '127.0.0.1', port: counted.port });
    expect(await said(client, 'one')).to.equal('one');
    expect(await said(client, 'two')).to.equal('two');
    expect(counted.received).to.equal(2);
    client.end();
    await once(client, 'close');
  });

  it('passes on a reset as one', async () => {
    const client = connect({ host: '127.0.0.1', port: counted.port });
    await said(client, 'one');
    behind[0]?.resetAndDestroy();
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).to.equal('ECONNRESET');
  });
});

const [ONE, OTHER] = [101, 102];
const START = Date.UTC(2026, 0, 1);

/** The kernel, rather than the program under test, reports that a machine runs too much at once. */
describe('waits for a processor', () => {
  let now: number;
  let waited: Map<number, number>;
  let pids: number[];
  let waits: ProcessorWaits;

  beforeEach(() => {
    now = START;
    pids = [ONE, OTHER];
    waited = new Map([
      [ONE, 5_000],
      [OTHER, 0],
    ]);
    waits = new ProcessorWaits({ pids: () => pids, now: () => now, waitedMs: (pid) => waited.get(pid) });
    waits.look();
  });

  const pass = (ms: number, waiting: Partial<Record<number, number>>) => {
    now += ms;
    for (const [pid, more] of Object.entries(waiting))
      waited.set(Number(pid), (waited.get(Number(pid)) ?? 0) + (more ?? 0));
    waits.look();
  };

  it('count where one process waited for most of the time between two looks', () => {
    pass(1_000, { [ONE]: MOST_WAITING * 1_000 });
    expect(waits.spans).to.deep.equal([]);
    pass(2_000, { [ONE]: MOST_WAITING * 2_000 + 1, [OTHER]: 10 });
    expect(waits.spans).to.deep.equal([{ from: START + 1_000, until: START + 3_000 }]);
  });

  it('do not count for a process that has just come, or whose waits nobody tells', () => {
    pids = [OTHER];
    pass(1_000, {});
    pids = [ONE, OTHER, 103];
    pass(1_000, { [ONE]: 1_000 });
    expect(waits.spans).to.deep.equal([]);
  });

  it('are read of this process where the kernel is Linux', function linux() {
    if (process.platform !== 'linux') this.skip();
    let at = 0;
    // With a clock that hardly moves, any wait at all is too long.
    const own = new ProcessorWaits({ pids: () => [process.pid], now: () => (at += 1e-9) });
    const until = Date.now() + 30_000;
    while (own.spans.length === 0 && Date.now() < until) own.look();
    expect(own.spans).not.to.deep.equal([]);
  });
});
