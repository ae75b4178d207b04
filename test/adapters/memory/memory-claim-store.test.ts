// Goal: the memory claim store keeps the port's contract.
// Method: the contract.
import { MemoryClaimStore } from '../../../adapters/memory/memory-claim-store.js';
import { claimStoreContract } from '../../contracts/claim-store.contract.js';

claimStoreContract({
  name: 'memory',
  open: async () => new MemoryClaimStore(),
  close: async () => undefined,
  supports: {},
});
