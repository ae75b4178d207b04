/*
 * Goal: the provider for Replicate keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as Replicate's documentation says.
 */
import type { ReplicateProvider } from '../../../../adapters/providers/replicate/replicate-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import { providerContract } from '../../../contracts/provider.contract.js';
import {
  remoteProviderContract,
  type OpenedRemoteProvider,
  type RemoteProviderSubject,
} from '../../../contracts/remote-provider.contract.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { recordingLog } from '../recording-log.js';
import { replicateAt, task } from './opened-replicate.js';

const KEY = 'r8_contractsecret';
const closers = new WeakMap<OpenedRemoteProvider, () => Promise<void>>();

async function open(): Promise<OpenedRemoteProvider> {
  const fake = await ReplicateFake.open(KEY);
  const { log, logged } = recordingLog();
  const made: ReplicateProvider[] = [];
  const connected = (base = fake.base, options: JsonObject = {}) => {
    const provider = replicateAt(base, { api_key: KEY, connect_timeout_seconds: 1, ...options }, log);
    made.push(provider);
    return provider;
  };
  const opened: OpenedRemoteProvider = {
    provider: connected(),
    server: fake.server,
    tasks: () => fake.predictions.length,
    secret: KEY,
    reopened: () => connected(),
    openedAt: (origin) => connected(`${origin}/v1`),
    openedWithKey: (key) => connected(fake.base, { api_key: key }),
    quick: (token) => task({ token }),
    endless: (token) => task({ token, prompt: 'endless' }),
    queued: (token) => task({ token, prompt: 'queued' }),
    withReference: (token, reference) => task({ token, references: [reference] }),
    logged,
  };
  closers.set(opened, async () => {
    await Promise.all(made.map((provider) => provider.close()));
    await fake.close();
  });
  return opened;
}

const subject: RemoteProviderSubject = {
  name: 'replicate',
  open,
  close: async (opened) => closers.get(opened)?.(),
  supports: {
    promises: {
      answersWithOutputs: false,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 60_000,
      cancels: 'running',
      keepsResultsMs: 3_600_000,
      isPaid: true,
    },
    cost: true,
    checksKey: true,
  },
  refusals: [
    {
      name: 'too many requests',
      status: 429,
      body: {
        title: 'Too many requests',
        detail: 'Request was throttled. Your rate limit resets in ~30s.',
        status: 429,
      },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
      retryAfterMs: 30_000,
    },
    {
      name: 'a wrong key',
      status: 401,
      body: { title: 'Unauthenticated', detail: 'You did not pass a valid authentication token', status: 401 },
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'no credit',
      status: 402,
      body: { title: 'Insufficient credit', detail: 'You have insufficient credit to run this model.', status: 402 },
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'an unknown model',
      status: 404,
      body: { title: 'Not found', detail: 'The requested resource could not be found.', status: 404 },
      code: 'MODEL_UNAVAILABLE',
      because: 'not-here',
    },
    {
      name: 'an input that does not fit',
      status: 422,
      body: {
        title: 'Input validation failed',
        detail: '- input.width: Must be less than or equal to 1440',
        status: 422,
      },
      code: 'INPUT_INVALID',
    },
  ],
  failures: [
    {
      name: 'the picture is withheld',
      code: 'CONTENT_REJECTED_OUTPUT',
      task: (_, token) => task({ token, prompt: 'withheld' }),
    },
    {
      name: 'the prompt is flagged',
      code: 'CONTENT_REJECTED_INPUT',
      task: (_, token) => task({ token, prompt: 'flagged' }),
    },
  ],
  partial: { outputs: 1, task: (_, token) => task({ token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }) },
};

providerContract({
  ...subject,
  supports: { recovery: false, cancellation: true, answersWithOutputs: false },
});
remoteProviderContract(subject);
