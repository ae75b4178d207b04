// Goal: commands of many requests and processes on one account take effect exactly once each, in few writes, despite
// conflicts, lost answers and stale caches.
// Method: writers on the memory store, with a wrapper that counts, loses answers or lets another process run in
// between; outcomes are compared with an exact model, and entries are summed separately.
import { expect } from 'chai';
import fc from 'fast-check';
import { AccountWriter, type WriterOutcome } from '../../../core/credits/account-writer.js';
import type { AccountChange } from '../../../core/credits/account.js';
import type { AccountCommand } from '../../../core/credits/decide.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { StepwiseAcceptances } from '../../../core/generation/stepwise-acceptances.js';
import type { AccountStore } from '../../../core/ports/stores.js';
import { MemoryAccountStore } from '../../adapters/memory/account-store.js';
import { MemoryClaimStore, MemoryGenerationStore } from '../../adapters/memory/generation-stores.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { BooksModel, expectBooksRight } from '../../fixtures/ledgers.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { anyBatches } from './commands.js';
import { forAll } from '../../harness/for-all.js';

const ID = 'account';
const grant = (operationId: string, credits: number): AccountCommand => ({
  kind: 'grant',
  operationId,
  credits,
  reason: 'r',
});
const hold = (generationId: string, credits: number, maxOpenHolds = 10_000): AccountCommand => ({
  kind: 'hold',
  generationId,
  credits,
  maxOpenHolds,
  attribution: ATTRIBUTION,
});
const settle = (generationId: string, charge: number): AccountCommand => ({ kind: 'settle', generationId, charge });

async function storeWith(credits: number): Promise<MemoryAccountStore> {
  const store = new MemoryAccountStore();
  await store.create({
    accountId: ID,
    name: 'Test',
    currency: 'credits',
    createdAt: 0,
    version: 0,
    issued: 0,
    available: 0,
    reserved: 0,
    spent: 0,
    lastSequence: 0,
    holds: new Map(),
  });
  if (credits > 0) await writerOn(store, new ManualClock()).execute(ID, grant('first', credits));
  return store;
}

const WAIT_MS = 250;

function writerOn(store: AccountStore, clock: ManualClock, interceptor?: Interceptor, waitMs = 0): AccountWriter {
  const accounts = interceptor ? intercepted('accounts', store, interceptor) : store;
  const others = { claims: new MemoryClaimStore(), generations: new MemoryGenerationStore() };
  return new AccountWriter({ accounts, acceptances: new StepwiseAcceptances({ accounts, ...others }), clock }, waitMs);
}

async function expectRight(store: AccountStore): Promise<void> {
  const account = await store.read(ID);
  if (!account) expect.fail('the account is there');
  expectBooksRight(account, (await store.entries(ID, { limit: 1_000 })).items);
}

function accepted(outcomes: readonly WriterOutcome[]): number {
  return outcomes.filter(({ refused }) => refused === undefined).length;
}

describe('AccountWriter', () => {
  it('gives every command of any concurrent waves the outcome an exact model gives it, in order', async () => {
    await forAll(
      150,
      [anyBatches({ batches: 6, commands: 10 }), fc.infiniteStream(fc.boolean())],
      async (waves, may) => {
        const [store, model, clock] = [await storeWith(0), new BooksModel(), new ManualClock()];
        const writer = writerOn(store, clock, undefined, WAIT_MS);
        for (const wave of waves) {
          const outcomes = await clock.run(
            Promise.all(wave.map((command) => writer.execute(ID, command, may.next().value))),
          );
          expect(outcomes.map(({ refused }) => refused)).to.deep.equal(wave.map((command) => model.apply(command)));
          expect(BigInt((await store.read(ID))?.available ?? -1)).to.equal(model.available);
        }
        await expectRight(store);
      },
    );
  });

  it('combines waiting commands into one write: 500 concurrent holds take at most 4 writes', async () => {
    const [store, clock] = [await storeWith(1_000), new ManualClock()];
    let writes = 0;
    const writer = writerOn(store, clock, (call) => {
      if (call.name === 'accounts.apply') writes += 1;
      return call.proceed();
    });
    const outcomes = await clock.run(
      Promise.all(Array.from({ length: 500 }, (_, index) => writer.execute(ID, hold(`g${index}`, 2)))),
    );
    expect(accepted(outcomes)).to.equal(500);
    expect(writes).to.be.at.most(4);
    await expectRight(store);
  });

  it('accepts exactly min(K, floor(b / c)) of K concurrent holds of c on b, over two processes', async () => {
    const situation = fc.record({
      balance: fc.nat({ max: 60 }),
      cost: fc.integer({ min: 1, max: 13 }),
      first: fc.nat({ max: 12 }),
      second: fc.nat({ max: 12 }),
      delays: fc.infiniteStream(fc.nat({ max: 3 })),
    });
    await forAll(150, [situation], async ({ balance, cost, first, second, delays }) => {
      const [store, clock] = [await storeWith(balance), new ManualClock()];
      // Each call of both processes is delayed by a few milliseconds, so that their writes cross.
      const interceptor: Interceptor = async (call) => {
        await new Promise<void>((resolve) => {
          clock.after(delays.next().value ?? 0, resolve);
        });
        return call.proceed();
      };
      const [one, two] = [writerOn(store, clock, interceptor), writerOn(store, clock, interceptor)];
      const outcomes = await clock.run(
        Promise.all([
          ...Array.from({ length: first }, (_, index) => one.execute(ID, hold(`one${index}`, cost))),
          ...Array.from({ length: second }, (_, index) => two.execute(ID, hold(`two${index}`, cost))),
        ]),
      );
      expect(accepted(outcomes)).to.equal(Math.min(first + second, Math.floor(balance / cost)));
      expect((await store.read(ID))?.holds.size).to.equal(accepted(outcomes));
      await expectRight(store);
    });
  });

  describe('a command that may wait', () => {
    async function waiting() {
      const [store, clock] = [await storeWith(1_000), new ManualClock()];
      const written: number[] = [];
      const writer = writerOn(
        store,
        clock,
        (call) => {
          if (call.name === 'accounts.apply') written.push((call.args[0] as AccountChange).entries.length);
          return call.proceed();
        },
        WAIT_MS,
      );
      for (const id of ['a', 'b', 'c']) await clock.run(writer.execute(ID, hold(id, 1)));
      written.length = 0;
      return { store, clock, writer, written };
    }

    it('is written with the first that may not, in the order in which they came', async () => {
      const { store, clock, writer, written } = await waiting();
      const outcomes = [writer.execute(ID, settle('a', 1), true), writer.execute(ID, settle('b', 1), true)];
      await clock.advance(WAIT_MS - 1);
      expect(written).to.deep.equal([]);
      outcomes.push(writer.execute(ID, hold('d', 1)));
      expect(await Promise.all(outcomes)).to.deep.equal([{}, {}, {}]);
      expect(written).to.deep.equal([3]);
      await clock.advance(10 * WAIT_MS);
      expect(written, 'the time that was waited for has nothing left to write').to.deep.equal([3]);
      await expectRight(store);
    });

    it('is written when its time is over, with what came meanwhile, and the next one waits anew', async () => {
      const { store, clock, writer, written } = await waiting();
      const first = writer.execute(ID, settle('a', 1), true);
      await clock.advance(WAIT_MS - 1);
      const second = writer.execute(ID, settle('b', 1), true);
      await clock.advance(1);
      expect(written).to.deep.equal([2]);
      await Promise.all([first, second]);
      const third = writer.execute(ID, settle('c', 1), true);
      await clock.advance(WAIT_MS - 1);
      expect(written).to.deep.equal([2]);
      await clock.advance(1);
      await third;
      expect(written).to.deep.equal([2, 1]);
      await expectRight(store);
    });

    it('waits again when it comes during a write, and not when others came with it', async () => {
      const { clock, writer, written } = await waiting();
      const before = writer.execute(ID, hold('d', 1));
      const late = writer.execute(ID, settle('a', 1), true);
      await before;
      await clock.advance(WAIT_MS - 1);
      expect(written).to.deep.equal([1]);
      await clock.run(late);
      const again = [
        writer.execute(ID, hold('e', 1)),
        writer.execute(ID, settle('b', 1), true),
        writer.execute(ID, hold('f', 1)),
      ];
      await Promise.all(again);
      expect(written).to.deep.equal([1, 1, 1, 2]);
    });

    it('does not wait among many', async () => {
      const { writer, written } = await waiting();
      await Promise.all(Array.from({ length: 250 }, () => writer.execute(ID, settle('a', 1), true)));
      expect(written).to.deep.equal([1]);
    });
  });

  it('decides a refusal again on the newest state: another process granted meanwhile', async () => {
    const [store, clock] = [await storeWith(5), new ManualClock()];
    const [one, two] = [writerOn(store, clock), writerOn(store, clock)];
    expect(await clock.run(one.execute(ID, hold('a', 6)))).to.deep.equal({
      refused: 'CREDITS_INSUFFICIENT',
      availableCredits: 5,
    });
    await clock.run(two.execute(ID, grant('more', 1)));
    expect(await clock.run(one.execute(ID, hold('a', 6)))).to.deep.equal({});
  });

  it('decides "done before" again on the newest state: another process settled meanwhile', async () => {
    const [store, clock] = [await storeWith(5), new ManualClock()];
    const [one, two] = [writerOn(store, clock), writerOn(store, clock)];
    await clock.run(one.execute(ID, hold('a', 3)));
    await clock.run(two.execute(ID, settle('a', 0)));
    await clock.run(two.execute(ID, hold('b', 5)));
    // In the first process's cache the hold is still open; by now there are no credits left to hold.
    expect(await clock.run(one.execute(ID, hold('a', 3)))).to.deep.equal({
      refused: 'CREDITS_INSUFFICIENT',
      availableCredits: 0,
    });
    await expectRight(store);
  });

  it('applies a command once although its write was not confirmed and it is given again', async () => {
    for (const command of [grant('op', 4), hold('g', 3), settle('old', 2)]) {
      for (const happened of [true, false]) {
        const [store, clock] = [await storeWith(10), new ManualClock()];
        await clock.run(writerOn(store, clock).execute(ID, hold('old', 2)));
        const model = new BooksModel();
        for (const known of [grant('first', 10), hold('old', 2), command]) model.apply(known);
        let isBroken = true;
        const writer = writerOn(store, clock, async (call) => {
          if (call.name !== 'accounts.apply' || !isBroken) return call.proceed();
          isBroken = false;
          if (happened) await call.proceed();
          throw new StoreUnavailable('lost');
        });
        const failure = await clock.run(
          writer.execute(ID, command).then(
            () => null,
            (error: unknown) => error,
          ),
        );
        expect(failure).to.be.instanceOf(StoreUnavailable);
        expect(await clock.run(writer.execute(ID, command))).to.deep.equal({});
        expect(BigInt((await store.read(ID))?.available ?? -1)).to.equal(model.available);
        expect((await store.entries(ID, { limit: 10 })).items).to.have.length(3);
        await expectRight(store);
      }
    }
  });

  it('refuses every command on a missing account, and serves others', async () => {
    const [store, clock] = [await storeWith(5), new ManualClock()];
    const writer = writerOn(store, clock);
    const failures = await Promise.all(
      ['a', 'b'].map((id) => writer.execute('nobody', hold(id, 1)).catch((error: unknown) => error)),
    );
    for (const failure of failures) expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'NOT_FOUND');
    expect(await writer.execute(ID, hold('a', 1))).to.deep.equal({});
  });

  it('gives up after a bounded number of lost races, with nothing written', async () => {
    const [store, clock] = [await storeWith(5), new ManualClock()];
    let races = 0;
    const writer = writerOn(store, clock, async (call) => {
      if (call.name !== 'accounts.apply') return call.proceed();
      races += 1;
      return 'conflict';
    });
    const failure = await clock.run(writer.execute(ID, hold('a', 1)).catch((error: unknown) => error));
    expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'SERVICE_UNAVAILABLE');
    expect(races).to.be.within(2, 50);
    expect((await store.read(ID))?.version).to.equal(1);
  });

  it('keeps a broken command from failing the others that are written with it', async () => {
    const [store, clock] = [await storeWith(20), new ManualClock()];
    const writer = writerOn(store, clock);
    await clock.run(writer.execute(ID, hold('a', 5)));
    const outcomes = await clock.run(
      Promise.allSettled([
        writer.execute(ID, hold('x', 1)),
        writer.execute(ID, hold('b', 3)),
        writer.execute(ID, settle('a', 6)),
        writer.execute(ID, hold('c', 4)),
      ]),
    );
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((await store.read(ID))?.available).to.equal(20 - 5 - 1 - 3 - 4);
    await expectRight(store);
  });
});
