import { expect } from 'chai';
import type { Logger } from 'pino';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { createLogger, logTo } from '../../../apps/logging/logging.js';
import { observedPorts } from '../../../apps/metrics/metrics.js';
import { Outages, StoreGate } from '../../../apps/outages/outages.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Ports } from '../../../core/ports/ports.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { ManualClock, settled } from '../../fixtures/clocks.js';
import { intercepted, interceptedStores, type PortCall } from '../../fixtures/intercepted.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { createRequestFixture } from '../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { unary } from '../grpc/grpc-client.js';
import { errorOf, GrpcHarness } from '../grpc/grpc-harness.js';
import { type RunningServer, sendHttp, serve } from '../http/host/rest-client.js';

// Goal: while the database is known to be unavailable, requests are refused immediately and never reach it; a slow or
// failed call alone does not close the gate, and the first successful probe admits every request.
// Method: a store that hangs until the test releases it, behind both fronts; calls that reach it and probes are
// counted.

/** A database that answers, or holds every call until the test decides its outcome. */
class Database {
  readonly clock = new ManualClock();
  reached = 0;
  probes = 0;
  isAway = false;
  private readonly hanging: (() => void)[] = [];
  private readonly probing: ((isReady: boolean) => void)[] = [];
  /** The lines of the log from `info` up. */
  readonly lines: { readonly msg: string; readonly refusedRequests?: number }[] = [];
  readonly logger = createLogger(
    { level: 'info', format: 'json' },
    {
      write: (line: string) => {
        this.lines.push(JSON.parse(line) as { readonly msg: string });
      },
    },
  );
  private readonly outages = new Outages({ clock: this.clock, logger: this.logger });
  readonly gate = new StoreGate(
    () => this.probe(),
    this.clock,
    () => this.outages.refused(),
  );

  readonly around = (ports: Ports): Ports => {
    const stores = interceptedStores(ports, async (call) => {
      if (call.name.startsWith('objects.')) return call.proceed();
      this.reached += 1;
      if (this.isAway)
        await new Promise<void>((_, reject) =>
          this.hanging.push(() => reject(new StoreUnavailable('It did not answer in time.'))),
        );
      return call.proceed();
    });
    const outages = this.outages.observer(() => this.gate.suspect());
    return observedPorts({ ...ports, ...stores }, undefined, outages);
  };

  /** Every waiting call ends for lack of an answer. */
  async timeOut(): Promise<void> {
    for (const fail of this.hanging.splice(0)) fail();
    await settled();
  }

  async answerProbe(isReady: boolean): Promise<void> {
    for (const answer of this.probing.splice(0)) answer(isReady);
    await settled();
  }

  private probe(): Promise<boolean> {
    this.probes += 1;
    return new Promise((resolve) => this.probing.push(resolve));
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await settled();
}

describe('a gate before the stores', () => {
  it('over REST: refuses immediately while the last probe failed, and admits after a successful one', async () => {
    const database = new Database();
    const harness = await openServiceHarness({ around: database.around });
    const credential = (await createRequestFixture(harness.context)).secrets.get('owner') as string;
    const { server, origin } = await serve(harness, {
      logger: database.logger,
      requireStores: (wouldAsk) => database.gate.requireOpen(wouldAsk),
    });
    const ask = () => sendHttp(origin, { operation: 'getCredits', credential });
    try {
      database.isAway = true;
      const reachedBefore = database.reached;
      const first = [ask(), ask()];
      await until(() => database.reached >= reachedBefore + 1);
      await database.timeOut();
      await until(() => database.probes === 1);
      // A failed call does not close the gate: the next one reaches the store as well.
      const second = ask();
      const third = database.reached;
      await until(() => database.reached > third);
      await database.timeOut();
      expect(database.probes, 'one probe at a time').to.equal(1);
      await database.answerProbe(false);
      const reached = database.reached;
      const lines = database.lines.length;
      for (let asked = 0; asked < 50; asked += 1) {
        const { status, code, headers } = await ask();
        expect([status, code, headers.get('retry-after')]).to.deep.equal([503, 'SERVICE_UNAVAILABLE', '2']);
      }
      expect(database.reached, 'calls while it is shut').to.equal(reached);
      expect(database.lines.length, 'lines of what was refused').to.equal(lines);
      expect((await sendHttp(origin, { operation: 'listModels' })).status).to.equal(200);
      expect((await fetch(`${origin}/healthz`)).status).to.equal(200);
      expect((await sendHttp(origin, { operation: 'getCredits' })).code).to.equal('DEVELOPER_TOKEN_REQUIRED');
      database.isAway = false;
      await database.clock.advance(500);
      expect([database.probes, (await ask()).status], 'shut while it is probed').to.deep.equal([2, 503]);
      await database.answerProbe(true);
      expect((await ask()).status).to.equal(200);
      await database.timeOut();
      expect(
        (await Promise.all([...first, second]))
          .map(({ status }) => status)
          .every((status) => status === 503 || status === 200),
      ).to.equal(true);
      await database.clock.advance(60_000);
      expect(database.probes, 'no probe once it is open').to.equal(2);
      expect(database.lines.find(({ msg }) => msg === 'store back')).to.have.property('refusedRequests', 51);
    } finally {
      await server.close(100);
      await harness.close();
    }
  });

  it('over gRPC: refuses immediately, after authentication', async () => {
    const database = new Database();
    const grpc = await GrpcHarness.open({ around: database.around, requireStores: () => database.gate.requireOpen() });
    try {
      database.isAway = true;
      database.gate.suspect();
      await database.answerProbe(false);
      const reached = database.reached;
      for (let asked = 0; asked < 20; asked += 1) {
        expect(await errorOf(unary(grpc.client, Credits.method.getBalance, {}, grpc.as('all')))).to.have.property(
          'code',
          14,
        );
      }
      expect(await errorOf(unary(grpc.client, Credits.method.getBalance, {}, grpc.as('nobody')))).to.have.property(
        'code',
        16,
      );
      expect(database.reached).to.equal(reached);
      database.isAway = false;
      await database.clock.advance(500);
      await database.answerProbe(true);
      await unary(grpc.client, Credits.method.getBalance, {}, grpc.as('all'));
    } finally {
      await grpc.close();
    }
  });

  it('treats an error of the probe as a no, and probes no more once it is closed', async () => {
    const clock = new ManualClock();
    let probes = 0;
    const gate = new StoreGate(() => {
      probes += 1;
      return Promise.reject(new Error('no'));
    }, clock);
    gate.suspect();
    await settled();
    expect(() => gate.requireOpen()).to.throw('The service cannot answer right now.');
    await clock.advance(5_000);
    expect(probes).to.equal(11);
    await gate.close();
    gate.requireOpen();
    gate.suspect();
    await clock.advance(60_000);
    expect(probes).to.equal(11);
  });
});

// Goal: an outage of a store is logged once, counted, and summed up at its end, whichever callers it affects; a failure
// that is not an outage keeps its log level.
// Method: a REST server and recovery over memory stores that fail on demand; the lines of the log are counted and
// measured.

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
