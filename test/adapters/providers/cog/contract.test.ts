/*
 * Goal: the provider for containers of Cog keeps the contracts of providers, whatever its server answers.
 * Method: the shared contracts against a server that answers as a real container was measured to.
 */
import { providerContract } from '../../../contracts/provider.contract.js';
import { remoteProviderContract, type RemoteProviderSubject } from '../../../contracts/remote-provider.contract.js';
import { CogFake } from '../../../providers/fakes/cog-fake.js';
import { vendorSubject } from '../vendor-subject.js';
import { cogAt, task } from './opened-cog.js';

const subject: RemoteProviderSubject = {
  name: 'cog',
  ...vendorSubject({
    openFake: () => CogFake.open(),
    providerAt: cogAt,
    tasksOf: (fake) => fake.predictions.length,
    task,
  }),
  supports: {
    promises: {
      answersWithOutputs: true,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 30_000,
      cancels: 'nothing',
      maxMaskedReferences: 1,
      isPaid: false,
    },
    cost: true,
    checksKey: false,
    readsErrors: true,
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
