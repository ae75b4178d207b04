// Goal: what was put off is woken again within minutes, and however much of it there is, its cost is bounded.
// Method: backlogs of several sizes that nobody takes are put off again each time they are woken.
import { expect } from 'chai';
import { Paces } from '../../../core/webhooks/send-delivery.js';

const MINUTE_MS = 60_000;
const HANGS_MS = 15_000;
const AT_ONCE = 4;

/** Puts a backlog off for an hour, again each time it is woken; answers the times of each one. */
function putOff(paces: Paces, count: number, beganAt = 0): number[][] {
  const times = Array.from({ length: count }, (): number[] => [beganAt]);
  for (let now = beganAt; now < beganAt + 60 * MINUTE_MS; now += 1_000)
    for (const of of times)
      if ((of.at(-1) ?? 0) <= now) of.push(paces.nextAt('endpoint', 256, Math.max(now, of.at(-1) ?? 0)));
  return times;
}

function longestPause(times: readonly (readonly number[])[]): number {
  return Math.max(...times.flatMap((of) => of.slice(1).map((at, index) => at - (of[index] ?? 0))));
}

describe('the paces of what was put off', () => {
  let paces: Paces;
  beforeEach(() => {
    paces = new Paces(AT_ONCE);
    for (let sent = 0; sent < 50; sent += 1) paces.took('endpoint', HANGS_MS);
  });

  it('wake a backlog of an endpoint that hangs every five minutes', () => {
    const times = putOff(paces, 1_000);
    expect(longestPause(times)).to.be.within(5 * MINUTE_MS, 6 * MINUTE_MS);
    expect(Math.max(...times.map(({ length }) => length))).to.be.at.most(14);
  });

  it('wake no more than twenty a second of a long one', () => {
    const times = putOff(paces, 30_000);
    const perMinute = new Map<number, number>();
    for (const at of times.flatMap((of) => of.slice(1)))
      perMinute.set(Math.floor(at / MINUTE_MS), (perMinute.get(Math.floor(at / MINUTE_MS)) ?? 0) + 1);
    expect(Math.max(...perMinute.values())).to.be.within(1_000, 1_201);
    expect(longestPause(times)).to.be.within(20 * MINUTE_MS, 31 * MINUTE_MS);
  });

  it('wake it as fast as its endpoint is, when that is faster', () => {
    for (let sent = 0; sent < 50; sent += 1) paces.took('endpoint', 40);
    const at = Array.from({ length: 1_000 }, () => paces.nextAt('endpoint', 256, 0));
    expect(at.at(-1)).to.be.within(10_000, 14_000);
  });

  it('wake within an hour what was put off by a clock that was far ahead', () => {
    paces.nextAt('endpoint', 256, 1_000 * MINUTE_MS);
    expect(paces.nextAt('endpoint', 256, 0)).to.be.at.most(60 * MINUTE_MS);
  });
});
