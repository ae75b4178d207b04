import { expect } from 'chai';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { pino } from 'pino';
import { Outage } from '../../../apps/outages/outages.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { ManualClock } from '../../fixtures/clocks.js';
import type { Exchange } from '../history/history.js';
import { CountedPort, MOST_WAITING, ProcessorWaits } from './counted-port.js';
import { SLOW_ANSWER_MS, slowAnswers, storeTroubles } from './troubled-s3.js';

/**
 * Goal: the counting proxy between a process and its link changes nothing and counts what is sent. Method: an echo
 * server behind it; connections send data, are ended, and are reset.
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

const SENT_AT = 20_000;

/**
 * A machine that is too slow for the short leases of the fault runs is a fault too, and is detected from outside the
 * program.
 */
describe('slow answers', () => {
  it('are those that took half of a lease or longer, from the request to the answer', () => {
    expect(slowAnswers([answeredAfter(SLOW_ANSWER_MS - 1)])).to.deep.equal([]);
    expect(slowAnswers([answeredAfter(SLOW_ANSWER_MS)])).to.deep.equal([
      { from: SENT_AT, until: SENT_AT + SLOW_ANSWER_MS },
    ]);
  });

  it('exclude requests that were never answered: their processes may be dead', () => {
    expect(slowAnswers([{ sentAt: SENT_AT }])).to.deep.equal([]);
  });
});

function answeredAfter(ms: number): Pick<Exchange, 'sentAt' | 'answered'> {
  return { sentAt: SENT_AT, answered: { at: SENT_AT + ms, answer: { status: 200, code: 'OK' } } };
}

/** The program's own log lines about its stores are parsed, so that the checker knows every outage. */
describe('troubles of stores in a log', () => {
  let clock: ManualClock;
  let log: string;
  let outage: Outage;
  let tell: (error: Error) => void;

  beforeEach(() => {
    clock = new ManualClock(START);
    log = 'Serving on http://127.0.0.1:8080. Ctrl-C stops.\n';
    const logger = pino({ timestamp: () => `,"time":${clock.now()}` }, { write: (line: string) => void (log += line) });
    outage = new Outage('database', { clock, logger });
    tell = (err) => logger.warn({ err }, 'wake-ups not fetched');
  });
  afterEach(() => outage.close());

  const fail = () => outage.failed('generations.replace', new StoreUnavailable('MongoDB did not answer.'));

  it('last from the first failed call to the one that went well', async () => {
    fail();
    await clock.advance(7_000);
    fail();
    await clock.advance(4_000);
    outage.answered();
    await clock.advance(60_000);
    fail();
    await clock.advance(1_000);
    outage.answered();
    await clock.advance(60_000);
    expect(storeTroubles(log)).to.deep.equal([
      { from: START, until: START + 11_000 },
      { from: START + 71_000, until: START + 72_000 },
    ]);
  });

  it('last to the stop of a process whose store has not come back', async () => {
    fail();
    await clock.advance(3_000);
    outage.close();
    expect(storeTroubles(log)).to.deep.equal([{ from: START, until: START + 3_000 }]);
  });

  it('last to the last line of a process that was killed, which may be cut', async () => {
    fail();
    await clock.advance(2_000);
    tell(new Error('other'));
    expect(storeTroubles(`${log}{"level":40,"time":${clock.now() + 9_000},"pid":${process.pid},"ms`)).to.deep.equal([
      { from: START, until: START + 2_000 },
    ]);
  });

  it('are also single failures that begin no outage', async () => {
    await clock.advance(500);
    tell(new StoreUnavailable('MongoDB did not answer.'));
    expect(storeTroubles(log)).to.deep.equal([{ from: START + 500, until: START + 500 }]);
  });
});
