// Goal: the memory account store keeps the port's contract.
// Method: the contract.
import { MemoryAccountStore } from '../../../adapters/memory/memory-account-store.js';
import { accountStoreContract } from '../../contracts/account-store.contract.js';

accountStoreContract({
  name: 'memory',
  open: async () => new MemoryAccountStore(),
  close: async () => undefined,
  supports: {},
});
