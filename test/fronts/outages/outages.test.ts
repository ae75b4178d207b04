// Goal: an outage of a store is logged once, counted, and summed up at its end, whichever callers it affects; a failure
// that is not an outage keeps its log level.
// Method: a REST server and recovery over memory stores that fail on demand; the lines of the log are counted and
// measured.
import { expect } from 'chai';
import type { Logger } from 'pino';
import { createLogger, logTo } from '../../../apps/logging/logging.js';
import { observedPorts } from '../../../apps/metrics/metrics.js';
import { Outages } from '../../../apps/outages/outages.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Ports } from '../../../core/ports/ports.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { intercepted, interceptedStores, type PortCall } from '../../fixtures/intercepted.js';
import { ManualClock } from '../../fixtures/manual-clock.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { createRequestFixture } from '../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { type RunningServer, sendHttp, serve } from '../http/host/rest-client.js';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly store?: string;
  readonly failedCalls?: number;
  readonly warnings?: number;
  readonly awayMs?: number;
  readonly fault?: string;
  readonly err?: object;
}

/** The lines that a log at this level received. */
class Kept {
  readonly texts: string[] = [];
  readonly logger: Logger;

  constructor(level: 'debug' | 'info') {
    this.logger = createLogger(
      { level, format: 'json' },
      {
        write: (line: string) => {
          this.texts.push(line);
        },
      },
    );
  }

  get lines(): readonly Line[] {
    return this.texts.map((text) => JSON.parse(text) as Line);
  }

  named(...names: readonly string[]): readonly Line[] {
    return this.lines.filter(({ msg }) => names.includes(msg));
  }
}

const REFUSED = new StoreUnavailable(
  'MongoDB could not answer (MongoServerSelectionError).',
  new Error('connect ECONNREFUSED 127.0.0.1:27017'),
);

describe('an outage of a store', () => {
  let clock: ManualClock;
  let kept: Kept;
  let outages: Outages;
  let failing: (name: string) => unknown;

  beforeEach(() => {
    clock = new ManualClock();
    kept = new Kept('info');
    outages = new Outages({ clock, logger: kept.logger });
    failing = () => undefined;
  });

  const mayFail = async (call: PortCall): Promise<unknown> => {
    const error = failing(call.name);
    if (error !== undefined) throw error;
    return call.proceed();
  };

  const observed = (ports: Ports): Ports => observedPorts(ports, undefined, outages.observer());

  describe('under REST requests', () => {
    let harness: ServiceHarness;
    let running: RunningServer;
    let credential: string;

    beforeEach(async () => {
      harness = await openServiceHarness({
        around: (ports) => observed({ ...ports, ...interceptedStores(ports, mayFail) }),
      });
      credential = (await createRequestFixture(harness.context)).secrets.get('owner') as string;
      running = await serve(harness, { logger: kept.logger });
    });
    afterEach(async () => {
      await running.server.close(100);
      await harness.close();
    });

    const ask = () => sendHttp(running.origin, { operation: 'getCredits', credential });

    it('has two lines, and a short one for each failed request', async () => {
      failing = (name) => (name.startsWith('objects.') ? undefined : REFUSED);
      for (let asked = 0; asked < 100; asked += 1) expect((await ask()).status).to.equal(503);
      await clock.advance(12_000);
      failing = () => undefined;
      expect((await ask()).status).to.equal(200);
      await clock.advance(5_000);
      expect(
        kept.lines
          .filter(({ msg }) => msg !== 'request')
          .map(({ msg, store, fault, failedCalls, awayMs }) => ({ msg, store, fault, failedCalls, awayMs })),
      ).to.deep.equal([
        {
          msg: 'store away',
          store: 'database',
          fault: 'MongoDB could not answer (MongoServerSelectionError): connect ECONNREFUSED 127.0.0.1:27017',
          failedCalls: undefined,
          awayMs: undefined,
        },
        { msg: 'store back', store: 'database', fault: undefined, failedCalls: 100, awayMs: 12_000 },
      ]);
      const requests = kept.texts.filter((text) => text.includes('"request"'));
      expect(requests).to.have.length(100);
      for (const text of requests) expect(text.length).to.be.below(500);
      expect(kept.texts.join('')).to.include('SERVICE_UNAVAILABLE').and.not.include(' at ');
    });

    it('shows each failure with its stack at debug level', async () => {
      kept = new Kept('debug');
      outages = new Outages({ clock, logger: kept.logger });
      const { accounts } = observed({
        ...harness.context,
        ...interceptedStores(harness.context, () => Promise.reject(REFUSED)),
      });
      for (let asked = 0; asked < 3; asked += 1) await accounts.read('x').catch(() => undefined);
      expect(kept.named('store call failed')).to.have.length(3);
      expect(kept.texts.join('')).to.include(' at ');
    });

    it('keeps the log level of a failure that is not an outage', async () => {
      failing = (name) => (name === 'accounts.read' ? new TypeError('x is not a function') : undefined);
      expect((await ask()).status).to.equal(500);
      expect(kept.named('request failed').map(({ level, err }) => [level, err !== undefined])).to.deep.equal([
        ['error', true],
      ]);
      expect(kept.named('store away')).to.have.length(0);
    });
  });

  describe('under work', () => {
    const GENERATIONS = 50;

    async function recovered(): Promise<readonly Line[]> {
      const harness = await CoreHarness.open();
      for (let made = 0; made < GENERATIONS; made += 1) await harness.create();
      await harness.clock.advance(60_000);
      const context = harness.process(mayFail, {});
      const log = outages.quiet(logTo(kept.logger));
      await harness.clock.run(new Recovery({ ...context, ...observed(context), log }).pass()).catch(() => undefined);
      return kept.lines;
    }

    it('omits the warnings that it has caused, and counts them', async () => {
      failing = (name) => (name === 'generations.replace' ? REFUSED : undefined);
      const lines = await recovered();
      expect(lines.map(({ msg, store }) => [msg, store])).to.deep.equal([['store away', 'database']]);
      outages.close();
      expect(kept.lines.at(-1))
        .to.include({ msg: 'store back', warnings: GENERATIONS })
        .and.have.property('failedCalls')
        .at.least(GENERATIONS);
    });

    it('keeps every other warning', async () => {
      failing = (name) => (name === 'generations.replace' ? new TypeError('x is not a function') : undefined);
      expect((await recovered()).map(({ msg }) => msg)).to.deep.equal(
        Array.from({ length: GENERATIONS }, () => 'generation not recovered'),
      );
    });
  });

  describe('of one store', () => {
    it('is distinct from those of others, and is not ended by requests that need no store', async () => {
      const { context } = await CoreHarness.open();
      const ports = observed({
        ...context,
        ...interceptedStores(context, mayFail),
        wakeUps: intercepted('wakeUps', context.wakeUps, mayFail),
      });
      failing = (name) => (/^(?:objects|wakeUps)\./.test(name) && name !== 'objects.signGet' ? REFUSED : undefined);
      await ports.objects.stat('objects/a').catch(() => undefined);
      await ports.wakeUps.schedule({ kind: 'generation', id: 'a' }, 0).catch(() => undefined);
      await ports.accounts.read('0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02');
      await ports.objects.signGet({
        key: 'objects/a',
        mediaType: 'image/png',
        filename: 'a.png',
        expiresAt: clock.now() + 1_000,
      });
      await clock.advance(60_000);
      expect(kept.lines.map(({ msg, store }) => [msg, store])).to.deep.equal([
        ['store away', 'objects'],
        ['store away', 'wake-ups'],
      ]);
      failing = () => undefined;
      await ports.objects.stat('objects/a');
      await clock.advance(60_000);
      expect(kept.lines.slice(2).map(({ msg, store }) => [msg, store])).to.deep.equal([['store back', 'objects']]);
    });

    it('is one outage if the store answers now and then', async () => {
      const { context } = await CoreHarness.open();
      const ports = observed({ ...context, ...interceptedStores(context, mayFail) });
      for (let second = 0; second < 120; second += 1) {
        failing = () => (second % 3 === 0 ? REFUSED : undefined);
        await ports.accounts.read('0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02').catch(() => undefined);
        await clock.advance(1_000);
      }
      await clock.advance(5_000);
      expect(kept.lines.map(({ msg, failedCalls }) => [msg, failedCalls])).to.deep.equal([
        ['store away', undefined],
        ['store back', 40],
      ]);
    });

    it('keeps no timer once it is closed', async () => {
      const { context } = await CoreHarness.open();
      const ports = observed({ ...context, ...interceptedStores(context, mayFail) });
      failing = () => REFUSED;
      await ports.accounts.read('x').catch(() => undefined);
      failing = () => undefined;
      await ports.accounts.read('x');
      outages.close();
      const lines = kept.lines.length;
      await clock.advance(60_000);
      expect(kept.lines).to.have.length(lines);
    });
  });

  it('passes arguments, answers and errors on unchanged', async () => {
    const { context } = await CoreHarness.open();
    const ports = observed({ ...context, ...interceptedStores(context, mayFail) });
    expect(await ports.accounts.list({ limit: 1 })).to.deep.equal(await context.accounts.list({ limit: 1 }));
    failing = () => REFUSED;
    expect(await ports.accounts.read('x').catch((error: unknown) => error)).to.equal(REFUSED);
  });
});
