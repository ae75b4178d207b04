import { expect } from 'chai';
import type { EventType } from '../../../core/generation/events.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderReport } from '../../../core/ports/provider.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { type Answer, Violation } from '../observed.js';
import { CheckedService } from './checked-service.js';
import { SharesOfProviders } from './provider-calls.js';

// Goal: the checker finds a submission beyond the limits of a provider, and reports nothing when a task is over, handed
// back, or belongs to a worker whose share has expired. Method: the steps and calls of two workers at one provider, as
// a run would show them.

const CALL_MS = 20_000;
const SHARE_MS = 10_000;
const LONG_STEADY = 1_000_000;

class Shown {
  private readonly checker: SharesOfProviders;
  private version = 0;
  at = LONG_STEADY;

  constructor(
    limits: { readonly maxConcurrent?: number; readonly maxSubmissionsPerMinute?: number },
    isExclusive = false,
  ) {
    this.checker = new SharesOfProviders({ p: limits }, { providerCallMs: CALL_MS }, isExclusive);
    this.renew();
  }

  /** Both workers renew their shares. */
  renew(): void {
    for (const process of ['one', 'two']) {
      this.step(0, { lease: { worker: process, fence: 1, renewedAt: 0, expiresAt: 0, bootId: `boot of ${process}` } });
      const shares = [{ worker: `boot of ${process}`, renewedAt: this.at }];
      const use = { provider: 'p', version: (this.version += 1), shares };
      const by = { at: this.at, process, processNow: this.at };
      void this.checker.handlers['providerUses.replace']?.({ ...by, args: [use, 0], result: 'applied' } as never);
    }
  }

  submit(number: number, process = 'one', at = this.at): void {
    this.at = at;
    this.checker.calling({
      at,
      process,
      call: 'provider.submit',
      args: [{ token: `t${number}`, settings: { of: 'p' } }],
    });
  }

  step(number: number, changes: Partial<Generation>, event = 'renew', process = 'one'): void {
    const attempt = { number: 1, phase: 'submitted', token: `t${number}`, startedAt: 0 } as const;
    const before: Generation = { ...aGeneration(1), status: 'running', attempt };
    const next = { ...before, ...changes };
    this.checker.stepped({ before, next, event, by: { at: this.at, process, processNow: this.at } });
  }

  poll(number: number, state: ProviderReport['state']): void {
    this.checker.taken({ token: `t${number}` }, `r${number}`);
    void this.checker.handlers['provider.poll']?.({ args: [`r${number}`], result: { state } } as never);
  }
}

const finds = (shown: Shown, act: () => void) => expect(act, String(shown.at)).to.throw(Violation, 'Invariant 25');

describe('the checker of shares', () => {
  it('finds one task more than the limit, whichever worker submits it', () => {
    for (const process of ['one', 'two']) {
      const shown = new Shown({ maxConcurrent: 2 });
      shown.submit(1);
      shown.submit(2, 'two');
      finds(shown, () => shown.submit(3, process));
    }
  });

  it('counts a task that is submitted again once', () => {
    const shown = new Shown({ maxConcurrent: 1 });
    shown.submit(1);
    shown.submit(1, 'two');
  });

  for (const [why, changes, event] of [
    ['its generation has ended', { status: 'failed' }, 'fail'],
    ['its attempt is over', { attempt: { number: 2, phase: 'submitting', token: 'other', startedAt: 0 } }, 'retry'],
    [
      'what it delivered is on record',
      { attempt: { number: 1, phase: 'submitted', token: 't2', startedAt: 0, delivered: [] } },
      'accepted',
    ],
    ['its worker hands it back', {}, 'yield'],
  ] as const) {
    it(`stops counting a task once ${why}`, () => {
      const shown = new Shown({ maxConcurrent: 1 });
      shown.submit(1);
      shown.step(1, {}, 'yield', 'two');
      finds(shown, () => shown.submit(2));
      shown.step(2, changes, event);
      shown.step(1, changes, event);
      shown.submit(3);
    });
  }

  it('does not count a task that its provider reported as ended', () => {
    const shown = new Shown({ maxConcurrent: 1 });
    shown.submit(1);
    shown.poll(1, 'running');
    finds(shown, () => shown.submit(2));
    shown.poll(1, 'succeeded');
    shown.poll(2, 'failed');
    shown.submit(3);
  });

  it('counts the task of a worker that is gone for as long as its share is kept', () => {
    const shown = new Shown({ maxConcurrent: 1 });
    shown.submit(1);
    const { at } = shown;
    finds(shown, () => shown.submit(2, 'two', at + SHARE_MS + CALL_MS - 1));
    shown.step(2, { status: 'failed' }, 'fail', 'two');
    shown.submit(3, 'two', at + SHARE_MS + CALL_MS);
  });

  it('counts the task of a process that has ended until it is over, where the stores are exclusive', () => {
    const shown = new Shown({ maxConcurrent: 1 }, true);
    shown.submit(1);
    shown.step(1, {}, 'yield');
    finds(shown, () => shown.submit(2, 'two', shown.at + 10 * (SHARE_MS + CALL_MS)));
    shown.step(2, { status: 'failed' }, 'fail', 'two');
    shown.poll(1, 'failed');
    shown.submit(3, 'two');
  });

  it('finds one submission more than the limit in any minute', () => {
    const shown = new Shown({ maxSubmissionsPerMinute: 2 });
    shown.submit(1);
    shown.submit(2, 'two', shown.at + 30_000);
    finds(shown, () => shown.submit(3, 'one', shown.at + 29_999));
    const later = new Shown({ maxSubmissionsPerMinute: 2 });
    later.submit(1);
    later.submit(2, 'two', later.at + 30_000);
    later.submit(3, 'one', later.at + 30_000);
  });
});

// Goal: the checker finds an event of something that has not happened, of another App, or out of order, an end that a
// follower never received, and use that differs from the ledger's; it reports nothing when all is correct. Method: the
// checker observes real core on memory adapters, and is then shown events and answers that core did not produce.

describe('the checker of events for readers', () => {
  let checked: CheckedService;
  let version: number;
  beforeEach(async () => {
    checked = await CheckedService.open();
    version = 0;
  });

  const heard = (shown: { readonly appId?: string; readonly stream?: number }, event: object): Promise<void> =>
    checked.noting(() =>
      checked.checker.heard({
        at: checked.now,
        follower: 'f',
        appId: shown.appId ?? checked.caller.appId,
        stream: shown.stream ?? 1,
        event: event as Parameters<typeof checked.checker.heard>[0]['event'],
      }),
    );
  const begins = (): Promise<void> => heard({}, { type: 'beat', id: 'begins' });
  async function tell(generationId: string, type: EventType, shown: Parameters<typeof heard>[0] = {}): Promise<void> {
    version += 1;
    const generation = { ...(await checked.harness.generation(generationId)), version };
    await heard(shown, { type, at: checked.now, id: type, generation });
  }
  const rest = (): Promise<void> => checked.noting(() => checked.checker.atRest(checked.now));

  it('finds nothing where each end is reported, also twice on two streams', async () => {
    await begins();
    const id = await checked.created('one');
    await checked.finished(id);
    for (const type of ['queued', 'running', 'ended'] as const) await tell(id, type);
    for (const type of ['running', 'ended'] as const) await tell(id, type, { stream: 2 });
    await rest();
    checked.expectNothing();
  });

  it('23: finds an end that was not told, but for what ended before the follower began', async () => {
    await checked.finished(await checked.created('one'));
    await checked.harness.clock.advance(1);
    await begins();
    await rest();
    checked.expectNothing();
    await checked.harness.clock.advance(1);
    await checked.finished(await checked.created('two'));
    await rest();
    checked.expectFirst(23, 'never heard');
  });

  it('23: finds an event of what has not happened', async () => {
    await tell(await checked.created('one'), 'ended');
    checked.expectFirst(23, 'which is queued');
  });

  it('23: finds an event of another App', async () => {
    const { appId } = await checked.newCaller(1);
    await tell(await checked.created('one'), 'queued', { appId });
    checked.expectFirst(23, 'which is of App');
  });

  it('23: finds a start reported after the end, and an older version after a newer one', async () => {
    const id = await checked.created('one');
    await checked.finished(id);
    await tell(id, 'ended');
    await tell(id, 'running');
    checked.expectFirst(23, 'hears running');
    const other = await CheckedService.open();
    checked = other;
    const two = await other.created('one');
    await other.finished(two);
    await tell(two, 'running');
    version = -1;
    await tell(two, 'ended');
    other.expectFirst(23, ', after running, of ');
  });

  it('28: finds use that is more or less than the ledger has, and a row that nothing belongs to', async () => {
    await checked.finished(await checked.created('one'));
    const ask = (change: (data: JsonObject) => JsonObject) =>
      checked.ask(
        { operation: 'usage', by: 'model' },
        {
          twist: (answer): Answer => (answer.outcome === 'success' ? { ...answer, data: change(answer.data) } : answer),
        },
      );
    await ask((data) => data);
    checked.expectNothing();
    await ask((data) => ({ ...data, total: { ...(data['total'] as JsonObject), generations: 2 } }));
    checked.expectFirst(28, 'has 2 generations in all');
    const [less, more] = [await CheckedService.open(), await CheckedService.open()];
    checked = less;
    await less.created('one');
    await ask((data) => ({ ...data, usage: [] }));
    less.expectFirst(28, 'has 0 generations of model_key');
    checked = more;
    await ask((data) => ({ ...data, usage: [{ model_key: 'unknown' }] }));
    more.expectFirst(28, 'no entry belongs to');
  });
});

// Goal: the checker knows what may be taken over from a process that is gone, and which boot belongs to which process.
// Method: a checker over stores with one process at a time is shown take-overs, and leases with a wrong boot or none.

describe('the checker of boots', () => {
  it('14: finds a submission taken over that may be on its way, and nothing else of a process that is gone', async () => {
    for (const phase of ['submitted', 'submitting'] as const) {
      const alone = await CheckedService.open(1_000, { isExclusive: true });
      alone.harness.provider.newReport = () => ({ state: 'running' });
      if (phase === 'submitting') alone.harness.provider.submitScript = ['hang'];
      const id = await alone.created('one');
      await alone.harness.clock.run(alone.dispatcher.deliver(id));
      await alone.harness.clock.advance(10);
      expect((await alone.harness.generation(id)).attempt?.phase).to.equal(phase);
      const taken = { fence: 2, lease: alone.leaseOfAnother(), updatedAt: alone.now };
      await alone.rewrite(id, taken, true);
      if (phase === 'submitted') alone.expectNothing();
      else alone.expectFirst(14, 'had the lease until');
    }
  });

  it('14: finds a lease that carries two boots of one process, or none', async () => {
    for (const [bootId, saying] of [
      ['another', 'goes with'],
      [undefined, 'does not say of which boot'],
    ] as const) {
      const service = await CheckedService.open();
      service.harness.provider.newReport = () => ({ state: 'running' });
      const ids = [await service.created('one'), await service.created('two')];
      await service.harness.clock.run(service.dispatcher.deliver(ids[0] ?? ''));
      service.tamper = ({ name, args }) => {
        const g = args[0] as Generation;
        if (name !== 'generations.replace' || g.generationId !== ids[1] || !g.lease) return args;
        const { bootId: _own, ...lease } = g.lease;
        return [{ ...g, lease: bootId === undefined ? lease : { ...lease, bootId } }, ...args.slice(1)];
      };
      await service.harness.clock.run(service.dispatcher.deliver(ids[1] ?? ''));
      service.expectFirst(14, saying);
    }
  });
});
