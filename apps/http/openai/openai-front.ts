import { ServiceError } from '../../../core/errors.js';
import { CredentialAccess, type CredentialAccessParts } from '../host/authenticate.js';
import { basePathOf } from '../host/pages.js';
import { createRouter, type HttpFront, type HttpRoute } from '../host/server.js';
import { Beats } from './beats.js';
import { contentRoutes } from './content.js';
import { EDIT_ENDPOINTS } from './edits.js';
import { ApiRefusal, renderApiError } from './errors.js';
import { IMAGE_ENDPOINTS } from './images.js';
import { MODEL_ENDPOINTS } from './models.js';
import { documentRoute } from './openapi.js';
import { API_BASE, type ApiParts, type Endpoint, toRoute, WAIT_TIMES, type WaitTimes } from './operation.js';
import { Spool, type SpoolOptions } from './spool.js';
import { VIDEO_ENDPOINTS } from './videos.js';

export interface OpenAiOptions
  extends
    Pick<ApiParts, 'context' | 'rates' | 'bodyTimeoutMs' | 'requestTimeoutMs' | 'logger' | 'publicUrl'>,
    Pick<CredentialAccessParts, 'authenticator' | 'resourceMetadata' | 'requireStores'> {
  /** Replaces some of `WAIT_TIMES`. */
  readonly waitTimes?: Partial<WaitTimes> | undefined;
  readonly spool: SpoolOptions;
}

/** Every other path: without a valid key it is refused for that. */
const OTHERS: Endpoint = {
  method: 'any',
  path: '{/{*path}}',
  rate: 'reads',
  serve: () => Promise.reject(new ServiceError('ROUTE_NOT_FOUND')),
};

/** The paths that clients request whose base URL lacks `/v1`. */
const OUTSIDE: readonly HttpRoute[] = ['/images', '/videos', '/models', '/chat'].map((path) => ({
  method: 'any',
  path: `${path}{/{*path}}`,
  serve: () =>
    Promise.reject(
      new ApiRefusal('ROUTE_NOT_FOUND', 'There is no such path: the base URL of this API ends with /v1.', null),
    ),
}));

/** The API that OpenAI's clients speak: images, videos and models. */
export function openAiApi(options: OpenAiOptions): HttpFront {
  return (shared) => {
    const access = new CredentialAccess({ ...options, ...shared, audience: 'rest' });
    const waitTimes = { ...WAIT_TIMES, ...options.waitTimes };
    const spool = new Spool(options.spool);
    const beats = new Beats(waitTimes.beatMs);
    const parts: ApiParts = { ...options, ...shared, access, waitTimes, beats, spool };
    const endpoints = [...IMAGE_ENDPOINTS, ...EDIT_ENDPOINTS, ...VIDEO_ENDPOINTS, ...MODEL_ENDPOINTS, OTHERS];
    const document = documentRoute(endpoints, basePathOf(options.publicUrl()));
    const served = endpoints.map((endpoint) => toRoute(endpoint, parts));
    return [
      createRouter([document, ...contentRoutes(parts), ...served], API_BASE, renderApiError),
      createRouter(OUTSIDE, '', renderApiError),
    ];
  };
}
