// Goal: the memory person store keeps the port's contract.
// Method: the contract.
import { MemoryPersonStore } from '../../../adapters/memory/memory-person-store.js';
import { personStoreContract } from '../../contracts/person-store.contract.js';

personStoreContract({
  name: 'memory',
  open: async () => new MemoryPersonStore(),
  close: async () => undefined,
  supports: {},
});
