// Goal: objects in memory keep the port's contract.
// Method: the contract; signed requests go to the store's own `handle`, with the length a client's HTTP library would
// add.
import { MemoryObjectStore } from '../../../adapters/memory/memory-object-store.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { objectStoreContract } from '../../contracts/object-store.contract.js';

objectStoreContract({
  name: 'memory',
  open: async () => new MemoryObjectStore({ clock: new SystemClock() }),
  close: async () => undefined,
  supports: {
    send: async (store, request) => (store as MemoryObjectStore).handle(request),
    now: () => Date.now(),
    refusesInvalidKeys: false,
    signsWholeAddress: false,
    sendsNosniff: true,
    keepsEveryKey: true,
    copiesOntoOneKeyOnce: true,
  },
});
