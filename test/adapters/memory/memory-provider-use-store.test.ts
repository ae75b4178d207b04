// Goal: the memory store of provider uses keeps the port's contract.
// Method: the contract.
import { MemoryProviderUseStore } from '../../../adapters/memory/memory-provider-use-store.js';
import { providerUseStoreContract } from '../../contracts/provider-use-store.contract.js';

providerUseStoreContract({
  name: 'memory',
  open: async () => new MemoryProviderUseStore(),
  close: async () => undefined,
  supports: {},
});
