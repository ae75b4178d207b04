import { expect } from 'chai';
import type { ClientKind, History, StoreFault } from './history.js';
import { playHistory } from './served-history.js';

/** Those first that `npm test` plays. */
export const FAULT_KINDS = [
  'dies-after',
  'dies-before',
  'lost-request',
  'lost-answer',
  'late',
  'slow',
  'slow-answer',
] as const satisfies readonly StoreFault['kind'][];

interface FaultedCreate {
  readonly kind: StoreFault['kind'];
  readonly isExclusive: boolean;
  readonly client: ClientKind;
}

/** One client whose first connection is cut, and which repeats its request at another process. */
function historyOf({ kind, isExclusive, client }: FaultedCreate, call: number): History {
  return {
    isExclusive,
    aheadMs: [0, 20_000, -20_000],
    wishes: [
      {
        at: 0,
        client,
        content: 'a',
        fates: ['cut', 'whole', 'whole'],
        processes: [0, 1, 2],
        leavesAfterMs: 0,
        backoffMs: 500,
      },
    ],
    faults: [{ process: 0, call, kind, delayMs: 1_000 }],
    taskMs: [1_000],
    deletesAt: [],
  };
}

/** Plays a fault at each call of the first process in turn. Returns the number of its calls. */
export async function faultedCreates(faulted: FaultedCreate): Promise<number> {
  for (let call = 0; ; call += 1) {
    const { checker, callsOfFirst } = await playHistory(historyOf(faulted, call));
    expect(checker.tally, `a fault at call ${call}`).to.include({ heard: 1 });
    expect(checker.generationCount, `generations after a fault at call ${call}`).to.equal(1);
    if (call >= callsOfFirst) return call;
  }
}
