// Goal: the memory store of webhook deliveries keeps the port's contract.
// Method: the contract.
import { MemoryDeliveryStore } from '../../../adapters/memory/memory-delivery-store.js';
import { deliveryStoreContract } from '../../contracts/delivery-store.contract.js';

deliveryStoreContract({
  name: 'memory',
  open: async () => new MemoryDeliveryStore(),
  close: async () => undefined,
  supports: {},
});
