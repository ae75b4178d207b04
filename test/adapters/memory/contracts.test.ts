import { expect } from 'chai';
import { MemoryAcceptances } from '../../../adapters/memory/memory-acceptances.js';
import { MemoryAccountStore } from '../../../adapters/memory/memory-account-store.js';
import { MemoryArtefactStore } from '../../../adapters/memory/memory-artefact-store.js';
import { MemoryClaimStore } from '../../../adapters/memory/memory-claim-store.js';
import { MemoryCredentialStore } from '../../../adapters/memory/memory-credential-store.js';
import { MemoryDeliveryStore } from '../../../adapters/memory/memory-delivery-store.js';
import { MemoryGenerationStore } from '../../../adapters/memory/memory-generation-store.js';
import { MemoryObjectStore } from '../../../adapters/memory/memory-object-store.js';
import { MemoryPersonStore } from '../../../adapters/memory/memory-person-store.js';
import { MemoryProviderUseStore } from '../../../adapters/memory/memory-provider-use-store.js';
import { MemoryUploadStore } from '../../../adapters/memory/memory-upload-store.js';
import { MemoryUsageStore } from '../../../adapters/memory/memory-usage-store.js';
import { MemoryWakeUps } from '../../../adapters/memory/memory-wake-ups.js';
import { MemoryWebhookEndpointStore } from '../../../adapters/memory/memory-webhook-endpoint-store.js';
import { MemoryWakeUpTable } from '../../../adapters/memory/wake-up-table.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StepwiseAcceptances } from '../../../core/generation/stepwise-acceptances.js';
import type { AcceptanceStore } from '../../../core/ports/stores.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { accountStoreContract } from '../../contracts/account-store.contract.js';
import { artefactStoreContract } from '../../contracts/artefact-store.contract.js';
import { claimStoreContract } from '../../contracts/claim-store.contract.js';
import { credentialStoreContract } from '../../contracts/credential-store.contract.js';
import { deliveryStoreContract } from '../../contracts/delivery-store.contract.js';
import { generationStoreContract } from '../../contracts/generation-store.contract.js';
import { objectStoreContract } from '../../contracts/object-store.contract.js';
import { personStoreContract } from '../../contracts/person-store.contract.js';
import { providerUseStoreContract } from '../../contracts/provider-use-store.contract.js';
import { uploadStoreContract } from '../../contracts/upload-store.contract.js';
import { usageStoreContract } from '../../contracts/usage-store.contract.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { webhookEndpointStoreContract } from '../../contracts/webhook-endpoint-store.contract.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { memoryStores, type MemoryStores } from '../../fixtures/memory-stores.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';

// Goal: the memory person store keeps the port's contract.
// Method: the contract.

personStoreContract({
  name: 'memory',
  open: async () => new MemoryPersonStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory upload store keeps the port's contract.
// Method: the contract.

uploadStoreContract({
  name: 'memory',
  open: async () => new MemoryUploadStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory generation store keeps the port's contract.
// Method: the contract.

generationStoreContract({
  name: 'memory',
  open: async () => new MemoryGenerationStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory claim store keeps the port's contract.
// Method: the contract.

claimStoreContract({
  name: 'memory',
  open: async () => new MemoryClaimStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory artefact store keeps the port's contract.
// Method: the contract.

artefactStoreContract({
  name: 'memory',
  open: async () => new MemoryArtefactStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory account store keeps the port's contract.
// Method: the contract.

accountStoreContract({
  name: 'memory',
  open: async () => new MemoryAccountStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory store of webhook deliveries keeps the port's contract.
// Method: the contract.

deliveryStoreContract({
  name: 'memory',
  open: async () => new MemoryDeliveryStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory credential store keeps the port's contract.
// Method: the contract.

credentialStoreContract({
  name: 'memory',
  open: async () => new MemoryCredentialStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: the memory store of usage keeps the port's contract.
// Method: the contract.

usageStoreContract({
  name: 'memory',
  open: async () => new MemoryUsageStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: wake-ups in memory keep the port's contract, and processes that share a table share the work.
// Method: the contract on a manual clock; then two processes over one table, one of which dies.

const clock = new ManualClock();
let table = new MemoryWakeUpTable();

wakeUpsContract({
  name: 'memory',
  async open() {
    table = new MemoryWakeUpTable();
    return new MemoryWakeUps({ clock, table });
  },
  close: async (wakeUps) => wakeUps.stop(),
  supports: {
    now: () => clock.now(),
    elapse: (ms) => clock.advance(ms),
    quietMs: 300_000,
    reopen: async () => new MemoryWakeUps({ clock, table }),
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

// Goal: objects in memory keep the port's contract.
// Method: the contract; signed requests go to the store's own `handle`, with the length a client's HTTP library would
// add.

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

// Goal: the memory store of provider uses keeps the port's contract.
// Method: the contract.

providerUseStoreContract({
  name: 'memory',
  open: async () => new MemoryProviderUseStore(),
  close: async () => undefined,
  supports: {},
});

// Goal: memory keeps the contract of the acceptance store, in one step and by steps.
// Method: the contract.

const open = (acceptances: (stores: MemoryStores) => AcceptanceStore) => async () => {
  const stores = memoryStores(new ManualClock());
  return { ...stores, acceptances: acceptances(stores) };
};
const close = async (): Promise<void> => undefined;

acceptanceStoreContract({
  name: 'memory, in one step',
  open: open((stores) => new MemoryAcceptances(stores)),
  close,
  supports: { oneStep: true },
});
acceptanceStoreContract({
  name: 'memory, by steps',
  open: open((stores) => new StepwiseAcceptances(stores)),
  close,
  supports: { oneStep: false },
});

// Goal: the memory store of webhook endpoints keeps the port's contract.
// Method: the contract.

webhookEndpointStoreContract({
  name: 'memory',
  open: async () => new MemoryWebhookEndpointStore(),
  close: async () => undefined,
  supports: {},
});
