// Goal: the memory upload store keeps the port's contract.
// Method: the contract.
import { MemoryUploadStore } from '../../../adapters/memory/memory-upload-store.js';
import { uploadStoreContract } from '../../contracts/upload-store.contract.js';

uploadStoreContract({
  name: 'memory',
  open: async () => new MemoryUploadStore(),
  close: async () => undefined,
  supports: {},
});
