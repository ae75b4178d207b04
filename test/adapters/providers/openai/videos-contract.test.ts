/*
 * Goal: videos by the Videos API keep the contracts of providers, on servers that can stop a job and on those that cannot.
 * Method: the shared contracts, against servers that answer as the documentation of vLLM-Omni, SGLang and OpenAI says.
 */
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { providerContract } from '../../../contracts/provider.contract.js';
import { remoteProviderContract } from '../../../contracts/remote-provider.contract.js';
import type { OpenAiVendor } from '../../../providers/fakes/openai-error.js';
import { subjectAt } from './contract-subject.js';
import { video } from './opened-openai.js';

function videosContract(vendor: OpenAiVendor, settings: JsonObject): void {
  const make = (wish: Partial<Submission>) => video({ settings, ...wish });
  const canStop = vendor === 'vllm-omni';
  const subject = { name: `openai, videos of ${vendor}`, ...subjectAt(vendor, make) };

  providerContract({ ...subject, supports: { recovery: false, cancellation: canStop } });

  remoteProviderContract({
    ...subject,
    supports: {
      promises: {
        answersWithOutputs: false,
        isAskedBy: 'nothing',
        takesTokenOnce: false,
        settleMs: 60_000,
        cancels: canStop ? 'running' : 'nothing',
        isPaid: vendor === 'openai',
      },
      cost: vendor !== 'openai',
      checksKey: true,
      readsErrors: true,
      hasStatusWord: true,
      followsRedirects: true,
    },
    refusals: [
      {
        name: 'its rate is limited',
        status: 429,
        body: { error: { message: 'Words of the server.', type: 'requests', code: 'rate_limit_exceeded' } },
        code: 'PROVIDER_UNAVAILABLE',
        because: 'capacity',
      },
      {
        name: 'a field is wrong',
        status: 422,
        body: { detail: [{ loc: ['body', 'seconds'], msg: 'Words of the server.' }] },
        code: 'INPUT_INVALID',
      },
    ],
    failures: [
      {
        name: 'the server breaks',
        task: (_, token) => make({ token, prompt: 'fails' }),
        code: 'INTERNAL_ERROR',
      },
      {
        name: 'the result meets the content policy',
        task: (_, token) => make({ token, prompt: 'forbidden result' }),
        code: 'CONTENT_REJECTED_OUTPUT',
      },
      {
        name: 'the server finds the input wrong',
        task: (_, token) => make({ token, prompt: 'invalid' }),
        code: 'INPUT_INVALID',
      },
    ],
  });
}

videosContract('vllm-omni', { preset: 'vllm-omni', api: 'video' });
videosContract('sglang', { preset: 'sglang', api: 'video' });
videosContract('openai', { preset: 'openai', api: 'video', model: 'gpt-image-2' });
