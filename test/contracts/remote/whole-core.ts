import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { type Generation, isTerminal } from '../../../core/generation/generation.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { expectBooksRight } from '../../fixtures/ledgers.js';
import { imageModel } from '../../fixtures/models.js';
import { oneProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilSettled } from '../../harness/core-harness.js';
import type { Case, Cases } from './cases.js';
import { Activity, AnyMediaProbe, asCoreSees, type Hooks } from './core-side.js';
import { plannedRefusal } from './refusals.js';
import type { RefusalCase, RemoteProviderSubject } from './subject.js';

type Policy = 'fail' | 'resubmit';

/** The price of one image; each generation of these tests requests one. */
const PRICE_CREDITS = 10;

/** Tests of core with the provider: the number of requests that one paid generation can lead to. */
export function describeWholeCore(
  proves: Cases,
  { refusals, supports: { capabilities } }: RemoteProviderSubject,
): void {
  const isAsked = capabilities.isAskedBy === 'token';
  for (const policy of ['fail', 'resubmit'] as const) {
    const expected = isAsked
      ? ({ status: 'succeeded', posts: 1 } as const)
      : ({ fail: { status: 'failed', posts: 1 }, resubmit: { status: 'succeeded', posts: 2 } } as const)[policy];
    const ending = `ends ${expected.status} after ${expected.posts === 1 ? 'one request' : 'one more request'}`;

    proves(`${ending} when the answer is lost (${policy})`, async (one) => {
      one.server.plan({ type: 'lose-answer' }, { of: 'submit' });
      const core = await openCore(one, policy);
      await CoreWorker.start(core.harness);
      await expectEnd(one, core, await core.create(), expected);
    });

    proves(
      `${ending} when its worker dies between the request and the record of its answer (${policy})`,
      async (one) => {
        const core = await openCore(one, policy);
        const generationId = await core.create();
        await core.lostAfterRequest(generationId);
        expect(one.server.posts, 'sent by the worker that died').to.equal(1);
        await expectEnd(one, core, generationId, expected);
      },
    );

    proves(`ends, and is charged only for what it delivers, when the task never arrives (${policy})`, async (one) => {
      one.server.plan({ type: 'cut-body' }, { of: 'submit' });
      const core = await openCore(one, policy);
      await CoreWorker.start(core.harness);
      const isSentAgain = isAsked || policy === 'resubmit';
      const end = isSentAgain
        ? ({ status: 'succeeded', posts: 2 } as const)
        : ({ status: 'failed', posts: 1 } as const);
      await expectEnd(one, core, await core.create(), end);
      expect(one.server.handledPosts, 'requests that arrived').to.equal(isSentAgain ? 1 : 0);
    });
  }

  const full = refusals.find(({ because }) => because === 'capacity');
  if (full !== undefined) describeCapacity(proves, full);
  if (isAsked) describeSettling(proves, capabilities);
  if (capabilities.answersWithOutputs) describeStoring(proves);
  else describeCancelRaces(proves);
}

/** An object store that takes a file and cannot say so: the outputs are read again. */
function describeStoring(proves: Cases): void {
  proves('sends no second request when our own store fails after it has read the outputs', async (one) => {
    const core = await openCore(one, 'fail');
    let failures = 0;
    await CoreWorker.start(core.harness, 'worker', async (call) => {
      const done = await call.proceed();
      if (call.name !== 'objects.write' || failures === 2) return done;
      failures += 1;
      throw new StoreUnavailable('The store did not answer.');
    });
    await expectEnd(one, core, await core.create(), { status: 'succeeded', posts: 1 });
    expect(failures).to.equal(2);
  });
}

function describeCapacity(proves: Cases, full: RefusalCase): void {
  proves('waits until there is capacity, which uses no attempt up', async (one) => {
    for (let refused = 0; refused < 4; refused += 1) one.server.plan(plannedRefusal(full), { of: 'submit' });
    const core = await openCore(one, 'fail');
    await CoreWorker.start(core.harness);
    const generationId = await core.create();
    await expectEnd(one, core, generationId, { status: 'succeeded', posts: 5 });
    expect((await core.harness.generation(generationId)).attemptsMade).to.equal(1);
  });
}

function describeSettling(proves: Cases, { settleMs }: ProviderCapabilities): void {
  proves('sends no second request for a task that arrives after it was asked for', async (one) => {
    const planned = one.server.plan({ type: 'late' }, { of: 'submit' });
    const core = await openCore(one, 'fail', one.quick, { recovered: async () => planned.release() });
    await CoreWorker.start(core.harness);
    await expectEnd(one, core, await core.create(), { status: 'succeeded', posts: 1 });
    expect(one.tasks(), 'tasks taken').to.equal(1);
  });

  proves('sends a task again once it was not there twice, the settle time apart', async (one) => {
    one.server.plan({ type: 'cut-body' }, { of: 'submit' });
    const sentAt: number[] = [];
    const missedAt: number[] = [];
    const core: Core = await openCore(one, 'fail', one.quick, {
      submitting: () => void sentAt.push(core.harness.clock.now()),
      recovered: async (answer) => {
        if (answer !== 'unsupported' && answer.found !== true) missedAt.push(core.harness.clock.now());
      },
    });
    await CoreWorker.start(core.harness);
    await expectEnd(one, core, await core.create(), { status: 'succeeded', posts: 2 });
    expect(missedAt.length).to.be.at.least(2);
    expect(missedAt.at(-1)! - missedAt[0]!, 'between two answers').to.be.at.least(settleMs);
    expect(sentAt[1]! - sentAt[0]!, 'between two requests').to.be.at.least(settleMs);
  });
}

function describeCancelRaces(proves: Cases): void {
  proves('costs nothing when it is cancelled while the request is on its way', async (one) => {
    const core = await openCore(one, 'fail', one.endless);
    const generationId = await core.create();
    await CoreWorker.start(core.harness);
    await core.harness.clock.until(() => one.server.posts > 0, 'the request was sent');
    await cancelGeneration(core.harness.context, core.harness.caller, generationId);
    await expectEnd(one, core, generationId, { status: 'cancelled', posts: 1 });
  });
}

interface Core {
  readonly harness: CoreHarness;
  create(): Promise<string>;
  /** The first worker sends the task and dies with the answer; the lease lapses and a second worker takes over. */
  lostAfterRequest(generationId: string): Promise<void>;
}

/** Core on stores in memory and a manual clock, whose time waits for the provider's calls. */
async function openCore(one: Case, policy: Policy, task = one.quick, hooks: Hooks = {}): Promise<Core> {
  const activity = new Activity();
  const life = new Life();
  const own = asCoreSees(one.provider, task, activity, hooks);
  const harness = await CoreHarness.open({
    models: [imageModel({ onUnknownAcceptance: policy })],
    ports: { providers: oneProvider(own), mediaProbe: new AnyMediaProbe() },
    rest: activity.rest,
  });
  const dying = asCoreSees(one.provider, task, activity, {
    submitted: () => {
      life.isDead = true;
      return new Promise(() => undefined);
    },
  });
  return {
    harness,
    create: async () => (await harness.create()).generationId,
    lostAfterRequest: async (generationId) => {
      const first = CoreWorker.idle(harness, 'first', life.interceptor, { providers: oneProvider(dying) });
      void first.dispatcher.deliver(generationId);
      await harness.clock.until(() => life.isDead, 'the first worker has died');
      await harness.clock.advance(harness.settings.leaseMs);
      const second = await CoreWorker.start(harness, 'second');
      void second.dispatcher.deliver(generationId);
    },
  };
}

async function expectEnd(
  one: Case,
  { harness }: Core,
  generationId: string,
  expected: { readonly status: Generation['status']; readonly posts: number },
): Promise<void> {
  const g = await untilSettled(harness, generationId);
  expect(isTerminal(g.status)).to.equal(true);
  expect({ status: g.status, posts: one.server.posts }).to.deep.equal(expected);
  expect(g.chargedCredits, 'charged').to.equal(expected.status === 'succeeded' ? PRICE_CREDITS : 0);
  expectBooksRight(await harness.account(), await harness.entries());
}
