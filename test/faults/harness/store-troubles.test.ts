import { expect } from 'chai';
import { pino } from 'pino';
import { Outage } from '../../../apps/outages/outages.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { ManualClock } from '../../fixtures/manual-clock.js';
import { storeTroubles } from './store-troubles.js';

const START = Date.UTC(2026, 0, 1);

/** The lines that the program itself writes of its stores are read, so that no outage goes unseen by the checker. */
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
