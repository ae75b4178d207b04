/*
 * Goal: the provider for containers of Cog keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as a real container was measured to.
 */
import type { CogProvider } from '../../../../adapters/providers/cog/cog-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import { providerContract } from '../../../contracts/provider.contract.js';
import {
  remoteProviderContract,
  type OpenedRemoteProvider,
  type RemoteProviderSubject,
} from '../../../contracts/remote-provider.contract.js';
import { CogFake } from '../../../providers/fakes/cog-fake.js';
import { recordingLog } from '../recording-log.js';
import { cogAt, task } from './opened-cog.js';

const closers = new WeakMap<OpenedRemoteProvider, () => Promise<void>>();

async function open(): Promise<OpenedRemoteProvider> {
  const fake = await CogFake.open();
  const { log, logged } = recordingLog();
  const made: CogProvider[] = [];
  const connected = (base = fake.base, options: JsonObject = {}) => {
    const provider = cogAt(base, { connect_timeout_seconds: 1, ...options }, log);
    made.push(provider);
    return provider;
  };
  const opened: OpenedRemoteProvider = {
    provider: connected(),
    server: fake.server,
    tasks: () => fake.predictions.length,
    reopened: () => connected(),
    openedAt: (origin) => connected(origin),
    quick: (token) => task({ token }),
    endless: (token) => task({ token, prompt: 'endless' }),
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
  name: 'cog',
  open,
  close: async (opened) => closers.get(opened)?.(),
  supports: {
    promises: {
      answersWithOutputs: true,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 30_000,
      cancels: 'nothing',
      isPaid: false,
    },
    cost: true,
    checksKey: false,
  },
  refusals: [
    {
      name: 'it is busy',
      status: 409,
      body: { error: 'At capacity - all prediction slots busy', status: 'failed' },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
    {
      name: 'its model is being set up',
      status: 503,
      body: { error: 'Setup has not finished yet. Wait until it has finished.', status: 'failed' },
      code: 'PROVIDER_UNAVAILABLE',
      because: 'capacity',
    },
    {
      name: 'an input that does not fit',
      status: 422,
      body: { detail: [{ loc: ['body', 'input', 'n'], msg: 'must be less than or equal to 4', type: 'value_error' }] },
      code: 'INPUT_INVALID',
    },
    { name: 'another server', status: 404, body: {}, code: 'MODEL_UNAVAILABLE', because: 'not-here' },
  ],
  failures: [
    {
      name: 'the picture is withheld',
      code: 'CONTENT_REJECTED_OUTPUT',
      task: (_, token) => task({ token, prompt: 'withheld' }),
    },
    { name: 'the model throws', code: 'INTERNAL_ERROR', task: (_, token) => task({ token, prompt: 'broken' }) },
    { name: 'its process dies', code: 'INTERNAL_ERROR', task: (_, token) => task({ token, prompt: 'crash' }) },
    { name: 'nothing is made', code: 'INTERNAL_ERROR', task: (_, token) => task({ token, prompt: 'nothing' }) },
  ],
  partial: { outputs: 1, task: (_, token) => task({ token, prompt: 'half', parameters: { n: 2 }, outputCount: 2 }) },
};

providerContract({ ...subject, supports: { recovery: false, cancellation: false, answersWithOutputs: true } });
remoteProviderContract(subject);
