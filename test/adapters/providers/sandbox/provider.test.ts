/*
 * Goal: the sandbox keeps the provider contract.
 * Method: the shared contract on a real instance, with small pictures.
 */
import { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { providerContract } from '../../../contracts/provider.contract.js';
import { HandClock, task } from './tasks.js';

providerContract({
  name: 'sandbox',
  open: async () => ({
    provider: new SandboxProvider({ clock: new HandClock(), threads: 1 }),
    quick: (token) => task({ token, parameters: { size: '256x256' } }),
    endless: (token) => task({ token, painter: 'test', parameters: { behaviour: 'hang' } }),
  }),
  close: async ({ provider }) => provider.close(),
  supports: { recovery: true, cancellation: true },
});
