// Goal: memory keeps the contract of the acceptance store, in one step and by steps.
// Method: the contract.
import { MemoryAcceptances } from '../../../adapters/memory/memory-acceptances.js';
import { StepwiseAcceptances } from '../../../core/generation/stepwise-acceptances.js';
import type { AcceptanceStore } from '../../../core/ports/stores.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { ManualClock } from '../../fixtures/manual-clock.js';
import { memoryStores, type MemoryStores } from '../../fixtures/memory-stores.js';

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
