import type { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import type { Submission } from '../../../../core/ports/provider.js';
import type { OpenedRemoteProvider } from '../../../contracts/remote-provider.contract.js';
import type { OpenAiVendor } from '../../../providers/fakes/openai-error.js';
import { OpenAiFake } from '../../../providers/fakes/openai-fake.js';
import { recordingLog } from '../recording-log.js';
import { openAiAt } from './opened-openai.js';

const KEY = 'sk-contractsecret';

/** Opens and closes providers at a vendor's fake, which asks for a key. `make` gives its tasks. */
export function subjectAt(vendor: OpenAiVendor, make: (wish: Partial<Submission>) => Submission) {
  const closers = new WeakMap<OpenedRemoteProvider, () => Promise<void>>();
  return {
    open: async (): Promise<OpenedRemoteProvider> => {
      const fake = await OpenAiFake.open(vendor, KEY);
      const { log, logged } = recordingLog();
      const made: OpenAiProvider[] = [];
      const connected = (base = fake.base, key = KEY) => {
        const provider = openAiAt(base, { api_key: key, connect_timeout_seconds: 1 }, log);
        made.push(provider);
        return provider;
      };
      const opened: OpenedRemoteProvider = {
        provider: connected(),
        server: fake.server,
        tasks: () => fake.tasks,
        secret: KEY,
        reopened: () => connected(),
        openedAt: (origin) => connected(`${origin}/v1`),
        openedWithKey: (key) => connected(fake.base, key),
        quick: (token) => make({ token }),
        endless: (token) => make({ token, prompt: 'endless' }),
        queued: (token) => make({ token, prompt: 'endless' }),
        withReference: (token, reference) => make({ token, references: [reference] }),
        logged,
      };
      closers.set(opened, async () => {
        await Promise.all(made.map((provider) => provider.close()));
        await fake.close();
      });
      return opened;
    },
    close: async (opened: OpenedRemoteProvider): Promise<void> => closers.get(opened)?.(),
  };
}
