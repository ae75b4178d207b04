// Goal: the memory generation store keeps the port's contract.
// Method: the contract.
import { MemoryGenerationStore } from '../../../adapters/memory/memory-generation-store.js';
import { generationStoreContract } from '../../contracts/generation-store.contract.js';

generationStoreContract({
  name: 'memory',
  open: async () => new MemoryGenerationStore(),
  close: async () => undefined,
  supports: {},
});
