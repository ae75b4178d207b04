/*
 * Goal: the provider for Replicate keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as Replicate's documentation says.
 */
import { providerContract } from '../../../contracts/provider.contract.js';
import { remoteProviderContract, type RemoteProviderSubject } from '../../../contracts/remote-provider.contract.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { vendorSubject } from '../vendor-subject.js';
import { replicateAt, task } from './opened-replicate.js';

const KEY = 'r8_contractsecret';
const subject: RemoteProviderSubject = {
  name: 'replicate',
  ...vendorSubject({
    openFake: () => ReplicateFake.open(KEY),
    providerAt: replicateAt,
    tasksOf: (fake) => fake.predictions.length,
    task,
    key: KEY,
    path: '/v1',
    hasQueue: true,
  }),
  supports: {
    promises: {
      answersWithOutputs: false,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 60_000,
      cancels: 'running',
      keepsResultsMs: 3_600_000,
      maxMaskedReferences: 1,
      isPaid: true,
    },
    cost: true,
    checksKey: true,
    readsErrors: true,
    hasStatusWord: true,
    followsRedirects: true,
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
