import { expect } from 'chai';
import type { WakeUpsBench } from './wake-ups-bench.js';

export function repeatedTasks({ wakeUps, supports, until }: WakeUpsBench): void {
  it('runs a task after one interval and not before, again and again', async () => {
    let runs = 0;
    const start = supports.now();
    wakeUps().every('count', 100, async () => { runs += 1; });
    await wakeUps().start(async () => undefined, 1);
    await until(() => runs === 1);
    expect(supports.now() - start).to.be.at.least(99);
    await until(() => runs === 4);
    expect(supports.now() - start).to.be.at.least(396);
  });

  it('never runs a task twice at a time, however long it takes', async () => {
    let underWay = 0;
    let most = 0;
    let runs = 0;
    let end: () => void = () => undefined;
    wakeUps().every('slow', 50, async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise<void>((resolve) => { end = resolve; });
      underWay -= 1;
      runs += 1;
    });
    await wakeUps().start(async () => undefined, 1);
    for (const count of [1, 2]) {
      await until(() => underWay === 1);
      await supports.elapse(200);
      end();
      await until(() => runs === count);
    }
    expect(most).to.equal(1);
    await until(() => underWay === 1);
    const stopped = wakeUps().stop();
    end();
    await stopped;
  });

  it('goes on after a run that failed', async () => {
    let runs = 0;
    wakeUps().every('failing', 50, async () => {
      runs += 1;
      throw new Error('this run failed');
    });
    await wakeUps().start(async () => undefined, 1);
    await until(() => runs === 3);
  });

  it('waits for the run under way when it stops, and starts no other', async () => {
    let runs = 0;
    let stopped = false;
    let end: () => void = () => undefined;
    wakeUps().every('last', 50, async () => {
      runs += 1;
      await new Promise<void>((resolve) => { end = resolve; });
    });
    await wakeUps().start(async () => undefined, 1);
    await until(() => runs === 1);
    const stopping = wakeUps().stop().then(() => { stopped = true; });
    await supports.elapse(100);
    expect(stopped).to.equal(false);
    end();
    await stopping;
    await supports.elapse(200);
    expect(runs).to.equal(1);
  });
}
