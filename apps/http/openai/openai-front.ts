import { ServiceError } from '../../../core/errors.js';
import { CredentialAccess, type CredentialAccessParts } from '../host/authenticate.js';
import { createRouter, type HttpFront } from '../host/server.js';
import { IMAGE_ENDPOINTS } from './images.js';
import { MODEL_ENDPOINTS } from './models.js';
import { API_BASE, type ApiParts, type Endpoint, toRoute } from './operation.js';

export type OpenAiOptions = Pick<ApiParts, 'context' | 'rates' | 'bodyTimeoutMs'> &
  Pick<CredentialAccessParts, 'authenticator' | 'resourceMetadata' | 'requireStores'>;

/** Every other path: without a valid key it is refused for that. */
const OTHERS: readonly Endpoint[] = (['GET', 'POST', 'DELETE'] as const).map((method) => ({
  method,
  path: '/{*path}',
  rate: 'reads',
  serve: () => Promise.reject(new ServiceError('ROUTE_NOT_FOUND')),
}));

/** The API that OpenAI's clients speak: images and models. */
export function openAiApi(options: OpenAiOptions): HttpFront {
  return (shared) => {
    const access = new CredentialAccess({ ...options, ...shared, audience: 'rest' });
    const parts: ApiParts = { ...options, ...shared, access };
    const endpoints = [...IMAGE_ENDPOINTS, ...MODEL_ENDPOINTS, ...OTHERS];
    return [
      createRouter(
        endpoints.map((endpoint) => toRoute(endpoint, parts)),
        API_BASE,
      ),
    ];
  };
}
