/*
 * Goal: the provider for Replicate keeps the provider contract.
 * Method: the shared contract against a server that answers as Replicate's documentation says.
 */
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { providerContract, type OpenedProvider } from '../../../contracts/provider.contract.js';
import { replicateAt, task } from './opened-replicate.js';

const opened = new Map<OpenedProvider, () => Promise<unknown>>();

providerContract({
  name: 'replicate',
  open: async () => {
    const fake = await ReplicateFake.open();
    const provider = replicateAt(fake.base);
    const subject: OpenedProvider = {
      provider,
      quick: (token) => task({ token }),
      endless: (token) => task({ token, prompt: 'endless' }),
    };
    opened.set(subject, () => Promise.all([provider.close(), fake.close()]));
    return subject;
  },
  close: async (subject) => void (await opened.get(subject)?.()),
  supports: { recovery: false, cancellation: true },
});
