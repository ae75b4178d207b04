import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { outputHostsOption } from '../shared/output-settings.js';
import { refusedByFields } from '../shared/refused-values.js';
import { parametersOfFields } from '../shared/request-fields.js';
import { falCapabilities } from './fal-capabilities.js';
import { settingsFault } from './fal-settings.js';

/** Models that run at fal, by its queue. */
export const falDriver: ProviderDriver = {
  kind: 'provider',
  name: 'fal',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...connectionOptions({ baseUrl: 'https://queue.fal.run' }),
      platform_url: {
        type: 'string',
        format: 'uri',
        pattern: '^https?://[^?#@\\s]+$',
        default: 'https://api.fal.ai/v1',
        errorMessage: 'must be an http or https URL without a user name and a query',
        description: 'The address of the API that describes models, for `darkroom models add`. No task is sent to it.',
      },
      output_hosts: outputHostsOption(['fal.media', '.fal.media']),
      result_expiry_seconds: {
        type: 'integer',
        minimum: 600,
        maximum: 2_592_000,
        default: 3_600,
        description: 'How long fal keeps result files, which anyone with their address can read.',
      },
      keeps_payloads: {
        type: 'boolean',
        default: true,
        description: 'Whether fal stores prompts and answers, for as long as the account there says.',
      },
      server_retries: {
        type: 'boolean',
        default: false,
        description: 'Whether fal itself runs a task again after an error on its side, up to ten times.',
      },
    },
  },

  settingsFault,

  parametersSent: parametersOfFields,

  refusedValues: refusedByFields,

  capabilities: (settings, options) => falCapabilities(settings, options as { readonly keeps_payloads: boolean }),

  async open(opening) {
    const { openFal } = await import('./fal-provider.js');
    return openFal(opening);
  },
};
