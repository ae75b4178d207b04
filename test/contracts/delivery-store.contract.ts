// Goal: every store of webhook deliveries keeps one record for each id, finds it when it is due, and lists those of an
// endpoint, App, account or generation in the order of creation.
// Method: the checks shared by all stores of versioned records; lists in pages of any size compared with a plain array;
// reads for calls that are over.
import { expect } from 'chai';
import fc from 'fast-check';
import type { DeliveryStore, ListedDeliveries } from '../../core/ports/stores.js';
import { type Delivery, DELIVERY_LISTS, type DeliveryList } from '../../core/webhooks/delivery.js';
import { uuidAt } from '../fixtures/stored-records.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject } from './subject.js';
import { allPages, versionedRecords } from './versioned-records.js';
import { forAll } from '../harness/for-all.js';

const ENDPOINT = uuidAt(500);
const OF_ENDPOINT: ListedDeliveries = { of: 'endpoint', id: ENDPOINT };

const LISTS = Object.keys(DELIVERY_LISTS) as DeliveryList[];

export function delivery(n: number, values: Partial<Delivery> = {}): Delivery {
  return {
    deliveryId: uuidAt(n),
    accountId: uuidAt(600),
    appId: uuidAt(700),
    endpointId: ENDPOINT,
    generationId: uuidAt(800),
    url: 'https://receiver.example/a$b.c?d="e"',
    version: 0,
    state: 'retrying',
    event: 'generation.succeeded',
    occurredAt: 4,
    createdAt: 5,
    updatedAt: 6,
    attemptsMade: 2,
    nextAttemptAt: 70,
    lease: { token: 't', event: 'generation.running', startedAt: 6, expiresAt: 96 },
    attempts: [
      { event: 'generation.running', startedAt: 5, durationMs: 12, result: 'failed', status: 503 },
      { event: 'generation.running', startedAt: 6, durationMs: 15_000, result: 'failed', fault: 'timeout' },
    ],
    dueAt: 130,
    ...values,
  };
}

export function deliveryStoreContract(subject: ContractSubject<DeliveryStore>): void {
  contract('DeliveryStore contract', subject, (store) => {
    versionedRecords({ store, make: delivery, idAt: uuidAt });

    describe('lists', () => lists(store));

    describe('a call that is over', () =>
      endedCalls(async () => {
        await store().insert(delivery(1));
        return {
          read: (call) => store().read(uuidAt(1), call),
          list: (call) => store().list(OF_ENDPOINT, { limit: 5 }, call),
        };
      }));
  });
}

function lists(store: () => DeliveryStore): void {
  it('is empty for an id without messages, and for a malformed one', async () => {
    await store().insert(delivery(1));
    for (const of of LISTS)
      for (const id of [uuidAt(501), 'x', ''])
        expect(await store().list({ of, id }, { limit: 10 }), `${of} ${id}`).to.deep.equal({ items: [] });
  });

  it('lists an endpoint, App, account or generation, newest first, in pages of any size, within bounds of time', async () => {
    await forAll(
      60,
      [
        fc.constantFrom(...LISTS),
        fc.array(fc.record({ at: fc.nat(6), ofOther: fc.boolean() }), { maxLength: 12 }),
        fc.option(fc.nat(7), { nil: undefined }),
        fc.option(fc.nat(7), { nil: undefined }),
        fc.integer({ min: 1, max: 5 }),
      ],
      async (of, kept, createdFrom, createdBefore, limit) => {
        const all = kept.map(({ at, ofOther }, n) =>
          delivery(n, { createdAt: at, ...(ofOther ? { [DELIVERY_LISTS[of]]: uuidAt(501) } : {}) }),
        );
        for (const one of all) await store().insert(one);
        const wanted: ListedDeliveries = {
          of,
          id: delivery(0)[DELIVERY_LISTS[of]],
          ...(createdFrom === undefined ? {} : { createdFrom }),
          ...(createdBefore === undefined ? {} : { createdBefore }),
        };
        const listed = await allPages((page) => store().list(wanted, page), limit);
        expect(listed).to.deep.equal(expectedOf(all, wanted));
        for (const one of all) expect(await store().remove(one.deliveryId, 0)).to.equal('applied');
        expect(await store().list(wanted, { limit })).to.deep.equal({ items: [] });
      },
    );
  });

  it('shows each delivery as it is now', async () => {
    await store().insert(delivery(1));
    await store().replace(delivery(1, { version: 1, state: 'delivered' }), 0);
    for (const of of LISTS) {
      const { items } = await store().list({ of, id: delivery(1)[DELIVERY_LISTS[of]] }, { limit: 10 });
      expect(items, of).to.deep.equal([delivery(1, { version: 1, state: 'delivered' })]);
    }
  });
}

function expectedOf(all: readonly Delivery[], wanted: ListedDeliveries): readonly Delivery[] {
  const { of, id, createdFrom = 0, createdBefore = Number.POSITIVE_INFINITY } = wanted;
  return all
    .filter((one) => one[DELIVERY_LISTS[of]] === id && one.createdAt >= createdFrom && one.createdAt < createdBefore)
    .toSorted((a, b) => b.createdAt - a.createdAt || (a.deliveryId < b.deliveryId ? 1 : -1));
}
