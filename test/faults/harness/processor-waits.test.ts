import { expect } from 'chai';
import { MOST_WAITING, ProcessorWaits } from './processor-waits.js';

const [ONE, OTHER] = [101, 102];
const START = Date.UTC(2026, 0, 1);

/** That a machine runs too much at once is taken from the kernel, not from the program that is checked. */
describe('waits for a processor', () => {
  let now: number;
  let waited: Map<number, number>;
  let pids: number[];
  let waits: ProcessorWaits;

  beforeEach(() => {
    now = START;
    pids = [ONE, OTHER];
    waited = new Map([
      [ONE, 5_000],
      [OTHER, 0],
    ]);
    waits = new ProcessorWaits({ pids: () => pids, now: () => now, waitedMs: (pid) => waited.get(pid) });
    waits.look();
  });

  const pass = (ms: number, waiting: Partial<Record<number, number>>) => {
    now += ms;
    for (const [pid, more] of Object.entries(waiting))
      waited.set(Number(pid), (waited.get(Number(pid)) ?? 0) + (more ?? 0));
    waits.look();
  };

  it('count where one process waited for most of the time between two looks', () => {
    pass(1_000, { [ONE]: MOST_WAITING * 1_000 });
    expect(waits.spans).to.deep.equal([]);
    pass(2_000, { [ONE]: MOST_WAITING * 2_000 + 1, [OTHER]: 10 });
    expect(waits.spans).to.deep.equal([{ from: START + 1_000, until: START + 3_000 }]);
  });

  it('do not count for a process that has just come, or whose waits nobody tells', () => {
    pids = [OTHER];
    pass(1_000, {});
    pids = [ONE, OTHER, 103];
    pass(1_000, { [ONE]: 1_000 });
    expect(waits.spans).to.deep.equal([]);
  });

  it('are read of this process where the kernel is Linux', function linux() {
    if (process.platform !== 'linux') this.skip();
    let at = 0;
    // With a clock that hardly moves, any wait at all is too long.
    const own = new ProcessorWaits({ pids: () => [process.pid], now: () => (at += 1e-9) });
    const until = Date.now() + 30_000;
    while (own.spans.length === 0 && Date.now() < until) own.look();
    expect(own.spans).not.to.deep.equal([]);
  });
});
