import { expect } from 'chai';
import fc from 'fast-check';
import { Worker } from '../../../../apps/worker/worker.js';
import type { Caller } from '../../../../core/access/credential.js';
import { SlotQueue, ModelSlots, type SlotRequest } from '../../../../core/generation/run/model-slots.js';
import { settled } from '../../../fixtures/clocks.js';
import { imageModel } from '../../../fixtures/models.js';
import { imagesOf, type ScriptedTask, type SubmitScript } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../../harness/core-harness.js';
import { forAllSync } from '../../../harness/for-all.js';

// Goal: no more of a model's generations run at once than it allows, in total and per account; waiting accounts take
// turns, so an account with many generations does not hold up an account with few.
// Method: a worker with a provider whose tasks end when the test says so; running tasks are counted at every step.

async function open(concurrency: number, concurrencyPerAccount: number): Promise<CoreHarness> {
  const harness = await CoreHarness.open({ models: [imageModel({ concurrency, concurrencyPerAccount })] });
  harness.provider.newReport = () => ({ state: 'running' });
  await CoreWorker.start(harness);
  return harness;
}

function underWay(harness: CoreHarness): ScriptedTask[] {
  return [...harness.provider.tasks.values()].filter(({ report }) => report.state === 'running');
}

async function createMany(harness: CoreHarness, count: number, caller: Caller): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let made = 0; made < count; made += 1) ids.add((await harness.create({}, caller)).generationId);
  return ids;
}

describe('places of a model', () => {
  it('are never taken by more generations than it has, and all get one eventually', async () => {
    const harness = await open(3, 2);
    const callers = [harness.caller, await harness.newCaller(1_000), await harness.newCaller(1_000)];
    const owners = new Map<string, Caller>();
    for (const caller of callers) for (const id of await createMany(harness, 6, caller)) owners.set(id, caller);
    let finished = 0;
    await harness.clock.until(() => {
      const tasks = underWay(harness);
      expect(tasks.length).to.be.at.most(3);
      for (const caller of callers) {
        expect(
          tasks.filter(({ submission }) => owners.get(submission.generationId) === caller).length,
          'of one account',
        ).to.be.at.most(2);
      }
      const [task] = tasks;
      if (task) {
        task.report = { state: 'succeeded', outputs: imagesOf(1) };
        finished += 1;
      }
      return finished === 18;
    }, 'all have been submitted');
    await harness.clock.advance(10_000);
    expect(harness.provider.submissions).to.have.length(18);
    for (const id of owners.keys()) expect((await harness.generation(id)).status).to.equal('succeeded');
  });

  it('are given at the next recovery when a new catalog has more of them', async () => {
    let concurrency = 1;
    const model = imageModel({ concurrencyPerAccount: 8 });
    const harness = await CoreHarness.open({
      models: [Object.defineProperty({ ...model }, 'concurrency', { get: () => concurrency })],
    });
    harness.provider.newReport = () => ({ state: 'running' });
    await new Worker(harness.context, { workerId: 'worker', recoveryIntervalMs: 15_000, stopGraceMs: 1_000 }).start();
    await createMany(harness, 6, harness.caller);
    await harness.clock.advance(1_000);
    expect(underWay(harness)).to.have.length(1);
    concurrency = 4;
    await harness.clock.advance(15_000);
    expect(underWay(harness)).to.have.length(4);
  });

  it('go to an account with few in turn with one that has many', async () => {
    const harness = await open(1, 1);
    const few = await harness.newCaller(1_000);
    await createMany(harness, 30, harness.caller);
    await harness.clock.advance(10);
    const ids = await createMany(harness, 3, few);
    await harness.clock.until(() => {
      for (const task of underWay(harness)) task.report = { state: 'succeeded', outputs: imagesOf(1) };
      return harness.provider.submissions.length >= 8;
    }, 'eight have been submitted');
    const order = harness.provider.submissions
      .slice(0, 8)
      .map(({ generationId }) => (ids.has(generationId) ? 'few' : 'many'));
    expect(
      order.filter((who) => who === 'few'),
      order.join(),
    ).to.have.length(3);
  });

  it('do not stay empty because the account whose turn it is has its share', async () => {
    const harness = await open(2, 1);
    await createMany(harness, 5, harness.caller);
    await harness.clock.advance(10);
    expect(underWay(harness)).to.have.length(1);
    await createMany(harness, 1, await harness.newCaller(100));
    await harness.clock.advance(10);
    expect(underWay(harness)).to.have.length(2);
  });

  it('are given back by a generation that no longer needs one when its turn comes', async () => {
    const harness = await open(1, 1);
    await createMany(harness, 1, harness.caller);
    await harness.clock.advance(10);
    const [waiting] = await createMany(harness, 1, harness.caller);
    await createMany(harness, 1, harness.caller);
    await harness.clock.advance(10);
    await harness.cancel(waiting ?? '');
    for (const task of underWay(harness)) task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await harness.clock.advance(10_000);
    expect(underWay(harness), 'the one behind it').to.have.length(1);
    expect(harness.provider.submissions.map(({ generationId }) => generationId))
      .to.have.length(2)
      .and.not.to.include(waiting);
  });

  it('are as many as the newest catalog says', async () => {
    const harness = await open(1, 1);
    await createMany(harness, 4, harness.caller);
    await harness.clock.advance(1_000);
    expect(underWay(harness)).to.have.length(1);
    harness.models = [imageModel({ concurrency: 3, concurrencyPerAccount: 3 })];
    await createMany(harness, 1, harness.caller);
    await harness.clock.advance(1_000);
    expect(underWay(harness)).to.have.length(3);
  });

  it('are given back once, however often the release is called', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
    const lanes = new ModelSlots(harness.context);
    const first = await lanes.enter(await harness.create());
    const admitted: string[] = [];
    for (const who of ['b', 'c'])
      void lanes.enter(await harness.create({}, await harness.newCaller(100))).then(() => admitted.push(who));
    first.release();
    first.release();
    await settled();
    expect(admitted).to.deep.equal(['b']);
  });

  it('are refused to all waiting generations, and to those that come later, when the worker stops', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
    const lanes = new ModelSlots(harness.context);
    await lanes.enter(await harness.create());
    const failureOf = async () => lanes.enter(await harness.create()).catch((error: unknown) => error);
    const waiting = [failureOf(), failureOf()];
    await settled();
    lanes.refuseAll(new Error('stopping'));
    for (const outcome of await Promise.all([...waiting, failureOf()])) expect(outcome).to.be.instanceOf(Error);
  });
});

// Goal: places go to take-overs first, by earliest run deadline, then to new starts, with the accounts taking turns; an
// account at its limit is skipped, and no place stays empty while an eligible generation waits.
// Method: random arrivals, ends and advances on a queue, against a model that records when each account had its last
// turn and searches for the oldest, instead of keeping an order.

interface Waiting {
  readonly id: string;
  readonly account: string;
  readonly deadline: number | undefined;
  readonly joinedAt: number;
}

type Step =
  | { readonly kind: 'arrive'; readonly account: string; readonly deadline: number | undefined }
  | { readonly kind: 'end' | 'advance'; readonly which: number; readonly deadline: number };

const account = fc.constantFrom('a', 'b', 'c', 'd');
const deadline = fc.integer({ min: 1, max: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('arrive' as const),
      account,
      deadline: fc.option(deadline, { nil: undefined }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(), deadline }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('advance' as const), which: fc.nat(), deadline }) },
);

class Model {
  readonly admitted: string[] = [];
  readonly running = new Map<string, string>();
  waiting: Waiting[] = [];
  /** When each account last came to the end of a line, by kind of line and account. */
  private readonly atTheEndSince = new Map<string, number>();
  private moment = 0;

  constructor(
    private readonly limit: number,
    private readonly limitPerAccount: number,
  ) {}

  arrive(id: string, of: string, by: number | undefined): void {
    this.moment += 1;
    const line = lineOf(of, by);
    if (!this.waiting.some((one) => lineOf(one.account, one.deadline) === line))
      this.atTheEndSince.set(line, this.moment);
    this.waiting.push({ id, account: of, deadline: by, joinedAt: this.moment });
  }

  advance({ id, account: of }: Waiting, by: number): void {
    this.waiting = this.waiting.filter((one) => one.id !== id);
    this.arrive(id, of, by);
  }

  admit(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      this.moment += 1;
      const { id } = next;
      this.waiting = this.waiting.filter((one) => one.id !== id);
      this.atTheEndSince.set(lineOf(next.account, next.deadline), this.moment);
      this.running.set(id, next.account);
      this.admitted.push(id);
    }
  }

  private next(): Waiting | undefined {
    if (this.running.size >= this.limit) return undefined;
    const shareOf = (of: string) => [...this.running.values()].filter((one) => one === of).length;
    const eligible = this.waiting.filter((one) => shareOf(one.account) < this.limitPerAccount);
    const rank = (one: Waiting) => [
      one.deadline ?? Infinity,
      this.atTheEndSince.get(lineOf(one.account, one.deadline)) ?? 0,
      one.joinedAt,
    ];
    return eligible.toSorted((x, y) => compare(rank(x), rank(y)))[0];
  }
}

function lineOf(of: string, by: number | undefined): string {
  return `${by === undefined ? 'start' : 'take-over'} ${of}`;
}

function compare(x: readonly number[], y: readonly number[]): number {
  const at = x.findIndex((value, index) => value !== y[index]);
  return at < 0 || (x[at] as number) < (y[at] as number) ? -1 : 1;
}

/** A queue that admits waiters as soon as there is a slot, except those whose provider is in `shut`. */
class OpenLane {
  readonly admitted: string[] = [];
  readonly shut = new Set<string>();
  private readonly waiting = new Map<string, SlotRequest>();
  private readonly leave = new Map<string, () => void>();
  private readonly lane: SlotQueue<SlotRequest>;

  constructor(concurrency: number, concurrencyPerAccount: number) {
    this.lane = new SlotQueue(() => ({ concurrency, concurrencyPerAccount }));
  }

  arrive(generationId: string, accountId: string, runDeadlineAt: number | undefined, providers = ['p']): void {
    const request = { generationId, accountId, runDeadlineAt, providers };
    this.waiting.set(generationId, request);
    this.lane.join(request);
    this.admit();
  }

  advance(id: string, accountId: string, runDeadlineAt: number): void {
    this.lane.leave(this.waiting.get(id)!);
    this.arrive(id, accountId, runDeadlineAt);
  }

  end(id: string): void {
    this.leave.get(id)?.();
    this.admit();
  }

  heldUp(): string[] {
    return this.lane.heldUp().map(({ generationId }) => generationId);
  }

  admit(): void {
    const mayEnter = ({ providers: [provider = ''] }: SlotRequest) => !this.shut.has(provider);
    for (;;) {
      const next =
        this.lane.earliest('finishing') ?? this.lane.earliest('takeOvers', mayEnter) ?? this.lane.nextStart(mayEnter);
      if (next === undefined) return;
      this.leave.set(next.generationId, this.lane.admit(next));
      this.admitted.push(next.generationId);
    }
  }
}

describe('the order of places of a model', () => {
  it('equals that of a model that searches for the longest wait, after any arrivals and departures', () => {
    forAllSync(
      500,
      [fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60 })],
      (limit, perAccount, steps) => {
        const [lane, model] = [new OpenLane(limit, perAccount), new Model(limit, perAccount)];
        for (const [number, one] of steps.entries()) {
          if (one.kind === 'arrive') {
            lane.arrive(`${number}`, one.account, one.deadline);
            model.arrive(`${number}`, one.account, one.deadline);
          } else if (one.kind === 'end') {
            const ending = [...model.running.keys()].at(one.which % Math.max(1, model.running.size));
            model.running.delete(ending ?? '');
            lane.end(ending ?? '');
          } else {
            const starts = model.waiting.filter((waiting) => waiting.deadline === undefined);
            const chosen = starts[one.which % Math.max(1, starts.length)];
            if (chosen) model.advance(chosen, one.deadline);
            if (chosen) lane.advance(chosen.id, chosen.account, one.deadline);
          }
          model.admit();
          expect(lane.admitted).to.deep.equal(model.admitted);
        }
      },
    );
  });

  it('runs those that submit nothing first, whatever the providers of the others are short of', () => {
    const lane = new OpenLane(1, 1);
    lane.shut.add('p');
    lane.arrive('start', 'a', undefined);
    lane.arrive('retry', 'a', 1);
    lane.arrive('collects', 'a', 5, []);
    expect(lane.admitted).to.deep.equal(['collects']);
    lane.shut.clear();
    lane.end('collects');
    lane.end('retry');
    expect(lane.admitted).to.deep.equal(['collects', 'retry', 'start']);
  });

  it('passes by those whose provider has no room, and names as held up as many as there are places for', () => {
    const lane = new OpenLane(3, 2);
    lane.shut.add('p');
    for (const id of ['1', '2', '3']) lane.arrive(id, 'a', undefined);
    lane.arrive('4', 'b', 7);
    lane.arrive('5', 'c', undefined, ['q']);
    expect(lane.admitted).to.deep.equal(['5']);
    expect(lane.heldUp().toSorted()).to.deep.equal(['1', '4']);
    lane.end('5');
    expect(lane.heldUp().toSorted()).to.deep.equal(['1', '2', '4']);
  });
});

// Goal: a provider that is full costs a generation nothing but time: no attempt is used up, nothing is held while it
// waits, each try has a new token, and the deadline holds.
// Method: a provider that refuses a number of times because it is full, with and without a retry time.

const FULL = { code: 'PROVIDER_UNAVAILABLE', message: 'The provider is full.', mayRetry: true } as const;

function full(retryAfterMs?: number): SubmitScript {
  return { refuse: retryAfterMs === undefined ? FULL : { ...FULL, retryAfterMs }, because: 'capacity' };
}

async function openScripted(script: SubmitScript[]): Promise<CoreHarness> {
  const harness = await CoreHarness.open({ models: [imageModel({ maxAttempts: 1, onUnknownAcceptance: 'fail' })] });
  harness.provider.submitScript = script;
  return harness;
}

describe('a provider that is full', () => {
  it('is tried again with other tokens, and the attempt is still the first', async () => {
    const harness = await openScripted([full(), full(), full(), full(), 'accept']);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create()).generationId);
    const { submissions } = harness.provider;
    expect([g.status, g.attemptsMade, g.chargedCredits]).to.deep.equal(['succeeded', 1, 10]);
    expect(new Set(submissions.map(({ token }) => token)).size).to.equal(5);
    expect(submissions.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1, 1, 1]);
  });

  it('is tried no sooner than it says', async () => {
    const harness = await openScripted([full(90_000), 'accept']);
    await CoreWorker.start(harness);
    const times: number[] = [];
    harness.provider.onSubmit = () => void times.push(harness.clock.now());
    await untilSettled(harness, (await harness.create()).generationId);
    expect((times[1] ?? 0) - (times[0] ?? 0)).to.be.within(90_000, 91_000);
  });

  it('is tried less and less often when it does not say, and the generation fails without charge at its deadline', async () => {
    const harness = await openScripted([full()]);
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect([g.status, g.error?.code, g.error?.message, g.chargedCredits, g.attemptsMade]).to.deep.equal([
      'failed',
      'PROVIDER_UNAVAILABLE',
      'The provider is full.',
      0,
      1,
    ]);
    expect(harness.provider.submissions.length).to.be.within(10, 20);
  });

  it('leaves what waits for it without a lease and without an attempt', async () => {
    const harness = await openScripted([full(60_000), 'accept']);
    await CoreWorker.start(harness);
    const first = await harness.create();
    await harness.clock.until(
      async () => (await harness.generation(first.generationId)).dueAt > harness.clock.now() + 50_000,
      'the first one waits',
    );
    const { lease, attempt, attemptsMade, status } = await harness.generation(first.generationId);
    expect([lease, attempt, attemptsMade, status]).to.deep.equal([undefined, undefined, 0, 'running']);
    expect((await untilSettled(harness, first.generationId)).status).to.equal('succeeded');
  });

  it('gets no task of another generation before it said that it has room', async () => {
    const harness = await openScripted([full(60_000), 'accept']);
    await CoreWorker.start(harness);
    const first = await harness.create();
    await harness.clock.until(() => harness.provider.submissions.length === 1, 'the first one was refused');
    const second = await harness.create();
    await harness.clock.advance(59_000);
    expect(harness.provider.submissions).to.have.length(1);
    expect((await harness.generation(second.generationId)).status).to.equal('queued');
    for (const { generationId } of [first, second])
      expect((await untilSettled(harness, generationId)).status).to.equal('succeeded');
  });

  it('is not tried again after a cancel, which costs nothing', async () => {
    const harness = await openScripted([full(60_000), 'accept']);
    await CoreWorker.start(harness);
    const { generationId } = await harness.create();
    await harness.clock.until(() => harness.provider.submissions.length === 1, 'it was submitted');
    await harness.cancel(generationId);
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.chargedCredits, harness.provider.submissions.length]).to.deep.equal(['cancelled', 0, 1]);
  });
});
