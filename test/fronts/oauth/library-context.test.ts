/*
 * Goal: the library's context of a request costs nothing when no request of it is in progress, and is kept while one is.
 * Method: promises are tracked where two continuations have different ids (Node's documentation of `async_hooks`).
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { AsyncLocalStorage, executionAsyncId } from 'node:async_hooks';
import { disabledWhenIdle } from '../../../apps/http/oauth/authorization-server.js';
import { until } from '../../fixtures/until.js';
import { OAuthHarness } from './oauth-harness.js';

const [NODE = 0] = process.versions.node.split('.').map(Number);
const LAST_WITH_TRACKING = 23;

async function arePromisesTracked(): Promise<boolean> {
  const [first, second] = await Promise.all([1, 2].map(() => Promise.resolve().then(executionAsyncId)));
  return first !== second;
}

describe('the context of the OAuth library', () => {
  it('leaves no promise tracked after a client got its tokens', async () => {
    const service = await OAuthHarness.open();
    try {
      await service.connect(await service.signedIn(), await service.register());
      // An answer may arrive before the library has ended its call.
      await until(async () => !(await arePromisesTracked()));
    } finally {
      await service.close();
    }
  });

  it('is found again after each wait of a call, whichever calls end meanwhile, and is off after the last', async () => {
    const calls = fc.array(fc.record({ waits: fc.integer({ min: 1, max: 4 }), fails: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(calls, fc.scheduler(), async (given, scheduler) => {
        const storage = new AsyncLocalStorage<unknown>();
        const serve = disabledWhenIdle(storage, (call: (typeof given)[number]) =>
          storage.run(call, async () => {
            for (let wait = 0; wait < call.waits; wait += 1) {
              await scheduler.schedule(Promise.resolve());
              expect(storage.getStore()).to.equal(call);
              if (NODE <= LAST_WITH_TRACKING) expect(await arePromisesTracked()).to.equal(true);
            }
            if (call.fails) throw new Error('refused');
          }),
        );
        const ended = Promise.allSettled(given.map((call) => serve(call)));
        await scheduler.waitFor(ended);
        const outcomes = (await ended).map(({ status }) => status);
        expect(outcomes).to.deep.equal(given.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')));
        expect(await arePromisesTracked()).to.equal(false);
      }),
    );
  });
});
