/*
 * Goal: pictures by the Images API keep the contract of remote providers.
 * Method: the shared contract, against a server that answers as the documentation of OpenAI says, and one as vLLM-Omni does.
 */
import type { JsonObject } from '../../../../core/json.js';
import type { ProviderPromises, Submission } from '../../../../core/ports/provider.js';
import { remoteProviderContract } from '../../../contracts/remote-provider.contract.js';
import type { OpenAiVendor } from '../../../providers/fakes/openai-error.js';
import { subjectAt } from './contract-subject.js';
import { IMAGES, task } from './opened-openai.js';

function imagesContract(vendor: OpenAiVendor, settings: JsonObject, isPaid: boolean): void {
  const make = (wish: Partial<Submission>) => task({ settings, ...wish });
  const promises: ProviderPromises = {
    answersWithOutputs: true,
    isAskedBy: 'nothing',
    takesTokenOnce: false,
    settleMs: 60_000,
    cancels: 'nothing',
    ...(vendor === 'openai' ? { maxMaskedReferences: 1 } : {}),
    isPaid,
  };

  remoteProviderContract({
    name: `openai, pictures of ${vendor}`,
    ...subjectAt(vendor, make),
    supports: { promises, cost: vendor === 'openai', checksKey: true, readsErrors: true },
    refusals: [
      refusal(429, 'rate_limit_exceeded', 'PROVIDER_UNAVAILABLE', 'capacity'),
      refusal(429, 'slow_down', 'PROVIDER_UNAVAILABLE', 'capacity'),
      { ...refusal(429, 'credit_balance_exhausted', 'PROVIDER_REJECTED', 'not-here'), name: 'the balance is used up' },
      { ...refusal(429, null, 'PROVIDER_REJECTED', 'not-here', 'insufficient_quota'), name: 'the quota is used up' },
      refusal(401, 'invalid_api_key', 'PROVIDER_REJECTED', 'not-here'),
      refusal(403, 'unsupported_country_region_territory', 'PROVIDER_REJECTED', 'not-here'),
      refusal(404, 'model_not_found', 'MODEL_UNAVAILABLE', 'not-here'),
      refusal(400, 'moderation_blocked', 'CONTENT_REJECTED_INPUT'),
      refusal(400, 'content_policy_violation', 'CONTENT_REJECTED_INPUT'),
      refusal(400, 'invalid_value', 'PROVIDER_REJECTED'),
      refusal(413, null, 'INPUT_INVALID'),
    ],
    failures: [
      {
        name: 'the prompt meets the content policy',
        task: (_, token) => make({ token, prompt: 'forbidden' }),
        code: 'CONTENT_REJECTED_INPUT',
      },
      {
        name: 'the result meets the content policy',
        task: (_, token) => make({ token, prompt: 'forbidden result' }),
        code: 'CONTENT_REJECTED_OUTPUT',
      },
    ],
    partial: { task: (_, token) => make({ token, prompt: 'fewer' }), outputs: 1 },
  });
}

function refusal(
  status: number,
  code: string | null,
  is: 'PROVIDER_UNAVAILABLE' | 'PROVIDER_REJECTED' | 'MODEL_UNAVAILABLE' | 'CONTENT_REJECTED_INPUT' | 'INPUT_INVALID',
  because?: 'capacity' | 'not-here',
  type = 'invalid_request_error',
) {
  return {
    name: `${status} ${code ?? type}`,
    status,
    body: { error: { message: 'Words of the server that nobody may read.', type, param: null, code } },
    code: is,
    ...(because === undefined ? {} : { because }),
  };
}

imagesContract('openai', IMAGES, true);
imagesContract('vllm-omni', { preset: 'vllm-omni' }, false);
