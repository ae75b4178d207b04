// Goal: jobs together never hold more than the budget, run in order of arrival, and none is lost.
// Method: jobs that end when the test says so; then random jobs, some abandoned while they wait, against a plain queue.
import { expect } from 'chai';
import fc from 'fast-check';
import { CallOver } from '../../core/cancellation.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import { TestedCall } from '../fixtures/cancellation.js';
import { forAll } from '../harness/for-all.js';

/** A job in a budget: it begins when it is admitted and runs until the test ends it. */
class Job {
  hasBegun = false;
  end: () => void = () => undefined;
  readonly outcome: Promise<string>;
  readonly call = new TestedCall();

  constructor(
    budget: MemoryBudget,
    readonly byteSize: number,
  ) {
    const work = () =>
      new Promise<void>((resolve) => {
        this.hasBegun = true;
        this.end = resolve;
      });
    this.outcome = budget.during(byteSize, work, this.call).then(
      () => 'done',
      (error: unknown) => (error instanceof CallOver ? 'given up' : 'failed'),
    );
  }
}

const settle = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
const begun = (jobs: readonly Job[]) => jobs.map(({ hasBegun }) => hasBegun);

describe('MemoryBudget', () => {
  it('admits what fits, and the rest in order of arrival', async () => {
    const budget = new MemoryBudget(100);
    const jobs = [60, 60, 10, 40].map((byteSize) => new Job(budget, byteSize));
    await settle();
    expect(begun(jobs), 'the third would fit, and waits behind the second').to.deep.equal([true, false, false, false]);
    expect([budget.heldBytes, budget.waiting]).to.deep.equal([60, 3]);
    jobs[0]!.end();
    await settle();
    expect(begun(jobs)).to.deep.equal([true, true, true, false]);
    jobs[2]!.end();
    await settle();
    expect(begun(jobs)).to.deep.equal([true, true, true, true]);
  });

  it('runs a job larger than the budget alone', async () => {
    const budget = new MemoryBudget(100);
    const jobs = [1, Infinity, 1].map((byteSize) => new Job(budget, byteSize));
    await settle();
    expect(begun(jobs)).to.deep.equal([true, false, false]);
    jobs[0]!.end();
    await settle();
    expect(begun(jobs)).to.deep.equal([true, true, false]);
    jobs[1]!.end();
    await settle();
    expect(begun(jobs)).to.deep.equal([true, true, true]);
  });

  it('admits the next when a waiting job is abandoned, and keeps no listener', async () => {
    const budget = new MemoryBudget(100);
    const jobs = [60, 60, 40].map((byteSize) => new Job(budget, byteSize));
    jobs[1]!.call.end();
    expect(await jobs[1]!.outcome).to.equal('given up');
    await settle();
    expect(begun(jobs)).to.deep.equal([true, false, true]);
    expect(jobs.map(({ call }) => call.listeners)).to.deep.equal([0, 0, 0]);
  });

  it('does nothing for a call that is already over', async () => {
    const budget = new MemoryBudget(100);
    let isDone = false;
    const outcome = await budget
      .during(
        1,
        async () => {
          isDone = true;
        },
        TestedCall.over(),
      )
      .then(
        () => 'done',
        (error: unknown) => error,
      );
    expect(outcome).to.be.instanceOf(CallOver);
    expect([isDone, budget.heldBytes, budget.waiting]).to.deep.equal([false, 0, 0]);
  });

  it('frees the memory of a failed job', async () => {
    const budget = new MemoryBudget(100);
    expect(
      await budget.during(100, () => Promise.reject(new Error('broken'))).catch((error: Error) => error.message),
    ).to.equal('broken');
    expect(budget.heldBytes).to.equal(0);
  });

  it('always admits exactly the first jobs of its queue that fit into the limit', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('come' as const), byteSize: fc.integer({ min: 0, max: 150 }) }),
      fc.record({ kind: fc.constantFrom('end' as const, 'give-up' as const), which: fc.nat(20) }),
    );
    await forAll(200, [fc.array(step, { maxLength: 40 })], async (steps) => {
      const budget = new MemoryBudget(100);
      let waiting: Job[] = [];
      let running: Job[] = [];
      for (const next of steps) {
        if (next.kind === 'come') waiting.push(new Job(budget, next.byteSize));
        const [chosen] = next.kind === 'come' ? [] : (next.kind === 'end' ? running : waiting).slice(next.which);
        if (next.kind === 'end') chosen?.end();
        else chosen?.call.end();
        waiting = waiting.filter((job) => job !== chosen);
        running = running.filter((job) => job !== chosen);
        const held = () => running.reduce((sum, { byteSize }) => sum + Math.min(100, byteSize), 0);
        while (waiting[0] !== undefined && held() + Math.min(100, waiting[0].byteSize) <= 100)
          running.push(waiting.shift()!);
        await settle();
        expect([begun(running).every(Boolean), begun(waiting).some(Boolean)]).to.deep.equal([true, false]);
        expect([budget.heldBytes, budget.waiting]).to.deep.equal([held(), waiting.length]);
      }
    });
  });
});
