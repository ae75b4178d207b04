// Goal: a measured store still meets the contract of its port.
// Method: the ports' contracts on measured adapters in memory.
import { MemoryAccountStore } from '../../../adapters/memory/memory-account-store.js';
import { MemoryArtefactStore } from '../../../adapters/memory/memory-artefact-store.js';
import { MemoryClaimStore } from '../../../adapters/memory/memory-claim-store.js';
import { MemoryCredentialStore } from '../../../adapters/memory/memory-credential-store.js';
import { MemoryDeliveryStore } from '../../../adapters/memory/memory-delivery-store.js';
import { MemoryGenerationStore } from '../../../adapters/memory/memory-generation-store.js';
import { MemoryPersonStore } from '../../../adapters/memory/memory-person-store.js';
import { MemoryProviderUseStore } from '../../../adapters/memory/memory-provider-use-store.js';
import { MemoryUploadStore } from '../../../adapters/memory/memory-upload-store.js';
import { MemoryUsageStore } from '../../../adapters/memory/memory-usage-store.js';
import { MemoryWakeUps } from '../../../adapters/memory/memory-wake-ups.js';
import { MemoryWebhookEndpointStore } from '../../../adapters/memory/memory-webhook-endpoint-store.js';
import { MemoryWakeUpTable } from '../../../adapters/memory/wake-up-table.js';
import { Metrics, observedPorts } from '../../../apps/metrics/metrics.js';
import type { Ports } from '../../../core/ports/ports.js';
import { accountStoreContract } from '../../contracts/account-store.contract.js';
import { artefactStoreContract } from '../../contracts/artefact-store.contract.js';
import { claimStoreContract } from '../../contracts/claim-store.contract.js';
import { credentialStoreContract } from '../../contracts/credential-store.contract.js';
import { deliveryStoreContract } from '../../contracts/delivery-store.contract.js';
import { generationStoreContract } from '../../contracts/generation-store.contract.js';
import { personStoreContract } from '../../contracts/person-store.contract.js';
import { providerUseStoreContract } from '../../contracts/provider-use-store.contract.js';
import { uploadStoreContract } from '../../contracts/upload-store.contract.js';
import { usageStoreContract } from '../../contracts/usage-store.contract.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { webhookEndpointStoreContract } from '../../contracts/webhook-endpoint-store.contract.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { CoreHarness } from '../../harness/core-harness.js';

async function measured<P extends keyof Ports>(name: P, port: Ports[P]): Promise<Ports[P]> {
  const { ports } = await CoreHarness.open();
  return observedPorts({ ...ports, [name]: port }, new Metrics())[name];
}

const subject = { name: 'memory, measured', close: async () => undefined, supports: {} };

accountStoreContract({ ...subject, open: () => measured('accounts', new MemoryAccountStore()) });
claimStoreContract({ ...subject, open: () => measured('claims', new MemoryClaimStore()) });
credentialStoreContract({ ...subject, open: () => measured('credentials', new MemoryCredentialStore()) });
personStoreContract({ ...subject, open: () => measured('people', new MemoryPersonStore()) });
artefactStoreContract({ ...subject, open: () => measured('artefacts', new MemoryArtefactStore()) });
generationStoreContract({ ...subject, open: () => measured('generations', new MemoryGenerationStore()) });
providerUseStoreContract({ ...subject, open: () => measured('providerUses', new MemoryProviderUseStore()) });
deliveryStoreContract({ ...subject, open: () => measured('deliveries', new MemoryDeliveryStore()) });
webhookEndpointStoreContract({
  ...subject,
  open: () => measured('webhookEndpoints', new MemoryWebhookEndpointStore()),
});
usageStoreContract({ ...subject, open: () => measured('usage', new MemoryUsageStore()) });
uploadStoreContract({ ...subject, open: () => measured('uploads', new MemoryUploadStore()) });

const clock = new ManualClock();
let table = new MemoryWakeUpTable();

wakeUpsContract({
  name: 'memory, measured',
  open() {
    table = new MemoryWakeUpTable();
    return measured('wakeUps', new MemoryWakeUps({ clock, table }));
  },
  close: async (wakeUps) => wakeUps.stop(),
  supports: {
    now: () => clock.now(),
    elapse: (ms) => clock.advance(ms),
    quietMs: 300_000,
    reopen: () => measured('wakeUps', new MemoryWakeUps({ clock, table })),
  },
});
