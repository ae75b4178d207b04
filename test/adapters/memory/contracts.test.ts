// Goal: the stores in memory keep the contracts of their ports, and still do so when their calls are measured.
// Method: the contracts, on the plain stores and on the same stores with every call observed; then two processes over
// one table of wake-ups, one of which dies.
import { expect } from 'chai';
import { Metrics, observedPorts } from '../../../apps/metrics/metrics.js';
import { StepwiseAcceptances } from '../../../core/generation/stepwise-acceptances.js';
import type { Ports } from '../../../core/ports/ports.js';
import type { AcceptanceStore } from '../../../core/ports/stores.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { databaseContract } from '../../contracts/database.contract.js';
import { objectStoreContract } from '../../contracts/object-store.contract.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { memoryStores, type MemoryStores } from '../../fixtures/memory-stores.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { MemoryObjectStore } from './object-store.js';
import { MemoryAcceptances } from './generation-stores.js';
import { MemoryWakeUps, MemoryWakeUpTable } from './wake-ups.js';

const clock = new ManualClock();
const close = async (): Promise<void> => undefined;

type Wrap = <P extends keyof Ports>(port: P, adapter: Ports[P]) => Promise<Ports[P]>;

function contracts(name: string, wrap: Wrap): void {
  databaseContract((port) => ({
    name,
    supports: {},
    open: () => wrap(port, memoryStores(clock)[port] as Ports[typeof port]),
    close,
  }));

  let table = new MemoryWakeUpTable();
  const openWakeUps = () => wrap('wakeUps', new MemoryWakeUps({ clock, table }));
  wakeUpsContract({
    name,
    open() {
      table = new MemoryWakeUpTable();
      return openWakeUps();
    },
    close: async (wakeUps) => wakeUps.stop(),
    supports: {
      now: () => clock.now(),
      elapse: (ms) => clock.advance(ms),
      quietMs: 300_000,
      reopen: openWakeUps,
    },
  });
}

contracts('memory', async (_, adapter) => adapter);
contracts('memory, measured', async (port, adapter) => {
  const { ports } = await CoreHarness.open();
  return observedPorts({ ...ports, [port]: adapter }, new Metrics())[port];
});

const accepting = (acceptances: (stores: MemoryStores) => AcceptanceStore) => async () => {
  const stores = memoryStores(clock);
  return { ...stores, acceptances: acceptances(stores) };
};
acceptanceStoreContract({
  name: 'memory, in one step',
  open: accepting((stores) => new MemoryAcceptances(stores)),
  close,
  supports: { oneStep: true },
});
acceptanceStoreContract({
  name: 'memory, by steps',
  open: accepting((stores) => new StepwiseAcceptances(stores)),
  close,
  supports: { oneStep: false },
});

// Signed requests go to the store's own `handle`, with the length that an HTTP library of a client would add.
objectStoreContract({
  name: 'memory',
  open: async () => new MemoryObjectStore({ clock: new SystemClock() }),
  close: async () => undefined,
  supports: {
    send: async (store, request) => (store as MemoryObjectStore).handle(request),
    now: () => Date.now(),
    refusesInvalidKeys: false,
    signsWholeAddress: false,
    sendsNosniff: true,
    keepsEveryKey: true,
    copiesOntoOneKeyOnce: true,
  },
});

describe('MemoryWakeUps that share a table', () => {
  it('deliver a wake-up in one process only, and in the other if the first dies during it', async () => {
    const shared = new MemoryWakeUpTable();
    const delivered: string[] = [];
    const dying = new MemoryWakeUps({ clock, table: shared });
    const living = new MemoryWakeUps({ clock, table: shared });
    await dying.start(
      () =>
        new Promise<void>(() => {
          delivered.push('dying');
        }),
      1,
    );
    await living.start(async () => {
      delivered.push('living');
    }, 1);
    await living.schedule(aboutGeneration(uuidAt(1)), clock.now());
    await clock.advance(10_000);
    expect(delivered).to.deep.equal(['dying']);
    await clock.advance(60_000);
    expect(delivered).to.deep.equal(['dying', 'living']);
    await living.stop();
  });
});
