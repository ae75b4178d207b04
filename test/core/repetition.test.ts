// Goal: a repeated task runs one interval after each run has ended, never twice at a time, continues after a failure,
// and stops.
// Method: a manual clock.
import { expect } from 'chai';
import { Repetition } from '../../core/waiting.js';
import { ManualClock } from '../fixtures/clocks.js';

/** A task whose runs end when the test says so. */
function heldTask(): {
  readonly counts: { begun: number; underWay: number };
  readonly task: () => Promise<void>;
  readonly end: () => void;
} {
  const counts = { begun: 0, underWay: 0 };
  let release: () => void = () => undefined;
  const task = async (): Promise<void> => {
    counts.begun += 1;
    counts.underWay += 1;
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    counts.underWay -= 1;
  };
  return { counts, task, end: () => release() };
}

describe('a repetition', () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
  });

  it('runs its task after one interval and not before, repeatedly', async () => {
    let runs = 0;
    const repetition = new Repetition(clock, 100, async () => {
      runs += 1;
    });
    await clock.advance(99);
    expect(runs).to.equal(0);
    await clock.advance(1);
    expect(runs).to.equal(1);
    await clock.advance(300);
    expect(runs).to.equal(4);
    await repetition.stop();
  });

  it('never runs its task twice at a time, and counts the interval from the end of a run', async () => {
    const { counts, task, end } = heldTask();
    const repetition = new Repetition(clock, 50, task);
    await clock.advance(500);
    expect(counts).to.deep.equal({ begun: 1, underWay: 1 });
    end();
    await clock.advance(49);
    expect(counts).to.deep.equal({ begun: 1, underWay: 0 });
    await clock.advance(1);
    expect(counts).to.deep.equal({ begun: 2, underWay: 1 });
    end();
    await repetition.stop();
  });

  it('continues after a failed run', async () => {
    let runs = 0;
    const repetition = new Repetition(clock, 50, async () => {
      runs += 1;
      throw new Error('This run failed.');
    });
    await clock.advance(150);
    expect(runs).to.equal(3);
    await repetition.stop();
  });

  it('waits for the current run when it stops, and starts no other', async () => {
    const { counts, task, end } = heldTask();
    const repetition = new Repetition(clock, 50, task);
    await clock.advance(50);
    let isStopped = false;
    const stopping = repetition.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(100);
    expect(isStopped).to.equal(false);
    end();
    await stopping;
    await clock.advance(200);
    expect(counts).to.deep.equal({ begun: 1, underWay: 0 });
  });

  it('runs nothing when it is stopped before its first run', async () => {
    let runs = 0;
    await new Repetition(clock, 50, async () => {
      runs += 1;
    }).stop();
    await clock.advance(200);
    expect(runs).to.equal(0);
  });
});
