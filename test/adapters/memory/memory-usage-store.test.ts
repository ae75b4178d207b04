// Goal: the memory store of usage keeps the port's contract.
// Method: the contract.
import { MemoryUsageStore } from '../../../adapters/memory/memory-usage-store.js';
import { usageStoreContract } from '../../contracts/usage-store.contract.js';

usageStoreContract({
  name: 'memory',
  open: async () => new MemoryUsageStore(),
  close: async () => undefined,
  supports: {},
});
