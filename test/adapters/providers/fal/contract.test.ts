/*
 * Goal: the provider for fal keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as fal's documentation says.
 */
import { providerContract } from '../../../contracts/provider.contract.js';
import { remoteProviderContract, type RemoteProviderSubject } from '../../../contracts/remote-provider.contract.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { vendorSubject } from '../vendor-subject.js';
import { falAt, task } from './opened-fal.js';

const KEY = 'contractid:contractsecret';
const subject: RemoteProviderSubject = {
  name: 'fal',
  ...vendorSubject({
    openFake: () => FalFake.open(KEY),
    providerAt: falAt,
    tasksOf: (fake) => fake.queue.length,
    task,
    key: KEY,
    hasQueue: true,
  }),
  supports: {
    promises: {
      answersWithOutputs: false,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 60_000,
      cancels: 'queued',
      keepsResultsMs: 3_600_000,
      maxMaskedReferences: 1,
      isPaid: true,
    },
    cost: true,
    checksKey: true,
    readsErrors: true,
    followsRedirects: true,
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
