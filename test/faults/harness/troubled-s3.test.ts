import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Outage } from '../../../apps/outages/outages.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { ManualClock } from '../../fixtures/clocks.js';
import type { Exchange } from '../../history/recorded/history.js';
import { SLOW_ANSWER_MS, slowAnswers, storeTroubles, type Trouble, TroubledS3 } from './troubled-s3.js';

/**
 * Goal: the proxy in front of an object store changes nothing while it has no trouble, and each trouble behaves as
 * named. Method: a small echo server behind it.
 */

const BODY = 'x'.repeat(100_000);

describe('an object store in trouble', () => {
  let server: Server;
  let proxy: TroubledS3;
  let received: number;

  beforeEach(async () => {
    received = 0;
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => {
        received += chunk.byteLength;
        chunks.push(chunk);
      });
      request.on('end', () => {
        const body = request.method === 'GET' ? Buffer.from(BODY) : Buffer.concat(chunks);
        response
          .writeHead(200, { 'Content-Length': body.byteLength, 'X-Host': request.headers.host, 'X-Path': request.url })
          .end(body);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await TroubledS3.open((server.address() as AddressInfo).port);
  });

  afterEach(async () => {
    await proxy.close();
    server.close();
    server.closeAllConnections();
  });

  const put = () => fetch(`http://127.0.0.1:${proxy.port}/bucket/a%20key?x=%2F`, { method: 'PUT', body: BODY });

  const get = () => fetch(`http://127.0.0.1:${proxy.port}/bucket/a%20key`);

  /** Sends two requests; every second one meets the trouble. */
  async function troubled(trouble: Trouble, ask: () => Promise<Response> = put): Promise<Response> {
    const suffering = proxy.suffer(trouble);
    try {
      expect((await ask()).status).to.equal(200);
      expect(suffering.hits).to.equal(0);
      return await ask();
    } finally {
      expect(suffering.hits).to.equal(1);
      proxy.cure(suffering);
    }
  }

  it('passes on everything as it is while it is well, Host among it', async () => {
    const response = await put();
    expect(await response.text()).to.equal(BODY);
    expect(response.headers.get('x-host')).to.equal(`127.0.0.1:${proxy.port}`);
    expect(response.headers.get('x-path')).to.equal('/bucket/a%20key?x=%2F');
  });

  it('asks to slow down, or fails, without passing anything on', async () => {
    expect((await troubled('slow-down')).status).to.equal(503);
    expect((await troubled('internal-error')).status).to.equal(500);
    expect(received).to.equal(2 * BODY.length);
  });

  it('takes half of what it is sent', async () => {
    const outcome = await troubled('half-requests').catch(() => 'broken');
    expect(outcome).to.equal('broken');
    expect(received).to.be.lessThan(2 * BODY.length);
  });

  it('gives half of what it should, and breaks the connection', async () => {
    const response = await troubled('half-answers', get);
    expect(response.headers.get('content-length')).to.equal(String(BODY.length));
    expect(await response.text().catch(() => 'broken')).to.equal('broken');
  });

  it('is well again', async () => {
    await troubled('slow-down');
    for (const response of await Promise.all([put(), put(), put()])) expect(await response.text()).to.equal(BODY);
  });

  it('suffers several things at once, and is cured of each alone', async () => {
    const slow = proxy.suffer('slow-down');
    const broken = proxy.suffer('internal-error');
    const statuses = async (count: number) => {
      const seen: number[] = [];
      for (let asked = 0; asked < count; asked += 1) seen.push((await put()).status);
      return seen;
    };
    expect(await statuses(4)).to.include.members([503, 500]);
    proxy.cure(slow);
    expect(await statuses(4))
      .to.include(500)
      .and.not.include(503);
    proxy.cure(broken);
    expect(await statuses(4)).to.deep.equal([200, 200, 200, 200]);
  });

  it('takes half only of what there is something of', async () => {
    const suffering = proxy.suffer('half-requests');
    for (const response of [await get(), await get()]) expect(await response.text()).to.equal(BODY);
    expect(suffering.hits).to.equal(0);
  });
});

/**
 * Goal: the checker knows every slow answer and every outage of a store. Method: exchanges at and below the limit, and
 * the log that the program's own outages write.
 */

const SENT_AT = 20_000;
const START = Date.UTC(2026, 0, 1);

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
