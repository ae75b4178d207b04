// Goal: while the database is known to be unavailable, requests are refused immediately and never reach it; a slow or
// failed call alone does not close the gate, and the first successful probe admits every request.
// Method: a store that hangs until the test releases it, behind both fronts; calls that reach it and probes are
// counted.
import { expect } from 'chai';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { createLogger } from '../../../apps/logging/logging.js';
import { observedPorts } from '../../../apps/metrics/metrics.js';
import { Outages, StoreGate } from '../../../apps/outages/outages.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Ports } from '../../../core/ports/ports.js';
import { interceptedStores } from '../../fixtures/intercepted.js';
import { ManualClock, settled } from '../../fixtures/manual-clock.js';
import { createRequestFixture } from '../../harness/request-fixture.js';
import { openServiceHarness } from '../../harness/service-harness.js';
import { unary } from '../grpc/grpc-client.js';
import { errorOf, GrpcHarness } from '../grpc/grpc-harness.js';
import { sendHttp, serve } from '../http/host/rest-client.js';

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
