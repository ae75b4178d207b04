// Goal: the memory credential store keeps the port's contract.
// Method: the contract.
import { MemoryCredentialStore } from '../../../adapters/memory/memory-credential-store.js';
import { credentialStoreContract } from '../../contracts/credential-store.contract.js';

credentialStoreContract({
  name: 'memory',
  open: async () => new MemoryCredentialStore(),
  close: async () => undefined,
  supports: {},
});
