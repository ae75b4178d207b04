// Goal: the memory store of webhook endpoints keeps the port's contract.
// Method: the contract.
import { MemoryWebhookEndpointStore } from '../../../adapters/memory/memory-webhook-endpoint-store.js';
import { webhookEndpointStoreContract } from '../../contracts/webhook-endpoint-store.contract.js';

webhookEndpointStoreContract({
  name: 'memory',
  open: async () => new MemoryWebhookEndpointStore(),
  close: async () => undefined,
  supports: {},
});
