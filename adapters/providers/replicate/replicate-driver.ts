import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { outputHostsOption } from '../shared/output-settings.js';
import { refusedByFields } from '../shared/refused-values.js';
import { parametersOfFields } from '../shared/request-fields.js';
import { replicateCapabilities } from './replicate-capabilities.js';
import { settingsFault } from './replicate-settings.js';

/** Models that run at Replicate, by its HTTP API. */
export const replicateDriver: ProviderDriver = {
  kind: 'provider',
  name: 'replicate',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...connectionOptions({ baseUrl: 'https://api.replicate.com/v1' }),
      output_hosts: outputHostsOption(['replicate.delivery', '.replicate.delivery']),
    },
  },

  settingsFault,

  parametersSent: parametersOfFields,

  refusedValues: refusedByFields,

  capabilities: replicateCapabilities,

  async open(opening) {
    const { openReplicate } = await import('./replicate-provider.js');
    return openReplicate(opening);
  },
};
