// Goal: in every store, a read that serves a call answers while the call is live and reads nothing once it is over.
// Method: each read of the store for a live call, for a call that is over, and without a call.
import { expect } from 'chai';
import { CallOver, type Cancellation } from '../../core/cancellation.js';
import { TestedCall } from '../fixtures/cancellation.js';

export type ReadFor = (call: Cancellation | undefined) => Promise<unknown>;

/** `reads` fills the fresh store with the records that its reads must find. */
export function endedCalls(reads: () => Promise<Readonly<Record<string, ReadFor>>>): void {
  it('answers a live call as it answers without one, and then stops listening for its end', async () => {
    for (const [name, read] of Object.entries(await reads())) {
      const call = new TestedCall();
      expect(await read(call), name).to.deep.equal(await read(undefined));
      expect(call.listeners, name).to.equal(0);
    }
  });

  it('reads nothing for a call that is over, or whose deadline has passed', async () => {
    for (const [name, read] of Object.entries(await reads())) {
      for (const call of [TestedCall.over(), new TestedCall({ deadline: Date.now() })]) {
        expect(await read(call).catch((error: unknown) => error), name).to.be.instanceOf(CallOver);
      }
    }
  });
}
