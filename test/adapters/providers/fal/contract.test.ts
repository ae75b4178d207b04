/*
 * Goal: the provider for fal keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as fal's documentation says.
 */
import type { FalProvider } from '../../../../adapters/providers/fal/fal-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import { providerContract } from '../../../contracts/provider.contract.js';
import {
  remoteProviderContract,
  type OpenedRemoteProvider,
  type RemoteProviderSubject,
} from '../../../contracts/remote-provider.contract.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { recordingLog } from '../recording-log.js';
import { falAt, task } from './opened-fal.js';

const KEY = 'contractid:contractsecret';
const closers = new WeakMap<OpenedRemoteProvider, () => Promise<void>>();

async function open(): Promise<OpenedRemoteProvider> {
  const fake = await FalFake.open(KEY);
  const { log, logged } = recordingLog();
  const made: FalProvider[] = [];
  const connected = (base = fake.base, options: JsonObject = {}) => {
    const provider = falAt(base, { api_key: KEY, connect_timeout_seconds: 1, ...options }, log);
    made.push(provider);
    return provider;
  };
  const opened: OpenedRemoteProvider = {
    provider: connected(),
    server: fake.server,
    tasks: () => fake.queue.length,
    secret: KEY,
    reopened: () => connected(),
    openedAt: (origin) => connected(origin),
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
  name: 'fal',
  open,
  close: async (opened) => closers.get(opened)?.(),
  supports: {
    promises: {
      answersWithOutputs: false,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 60_000,
      cancels: 'queued',
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
      body: { detail: 'Reached concurrent requests limit of 10' },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
    {
      name: 'a wrong key',
      status: 401,
      body: { detail: 'Authentication is required to access this application.' },
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'no credit',
      status: 403,
      body: { detail: 'User is locked. Reason: Exhausted balance.' },
      code: 'PROVIDER_REJECTED',
      because: 'not-here',
    },
    {
      name: 'an unknown model',
      status: 404,
      body: { detail: 'Application "gone" not found' },
      code: 'MODEL_UNAVAILABLE',
      because: 'not-here',
    },
    {
      name: 'an input that does not fit',
      status: 422,
      body: { detail: [{ loc: ['body', 'prompt'], msg: 'field required by the model', type: 'missing' }] },
      code: 'INPUT_INVALID',
    },
  ],
  failures: [
    {
      name: 'the prompt is refused',
      code: 'CONTENT_REJECTED_INPUT',
      task: (_, token) => task({ token, prompt: 'withheld' }),
    },
  ],
  partial: { outputs: 1, task: (_, token) => task({ token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }) },
};

providerContract({
  ...subject,
  supports: { recovery: false, cancellation: false, answersWithOutputs: false },
});
remoteProviderContract(subject);
