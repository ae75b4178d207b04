// Goal: the memory artefact store keeps the port's contract.
// Method: the contract.
import { MemoryArtefactStore } from '../../../adapters/memory/memory-artefact-store.js';
import { artefactStoreContract } from '../../contracts/artefact-store.contract.js';

artefactStoreContract({
  name: 'memory',
  open: async () => new MemoryArtefactStore(),
  close: async () => undefined,
  supports: {},
});
