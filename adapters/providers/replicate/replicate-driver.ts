import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { readSettings } from './replicate-settings.js';

/** Models that run at Replicate, by its HTTP API. */
export const replicateDriver: ProviderDriver = {
  kind: 'provider',
  name: 'replicate',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...connectionOptions({ baseUrl: 'https://api.replicate.com/v1' }),
      output_hosts: {
        type: 'array',
        maxItems: 20,
        items: { type: 'string', minLength: 1, maxLength: 253 },
        errorMessage: 'must list up to 20 hosts',
        default: ['replicate.delivery', '.replicate.delivery'],
        description: 'Hosts that results are fetched from; with a dot before it, all hosts below a name.',
      },
    },
  },

  settingsFault(settings) {
    const read = readSettings(settings);
    return 'fault' in read ? read.fault : undefined;
  },

  async open({ options, instance, log }) {
    const { openReplicate } = await import('./replicate-provider.js');
    return openReplicate({ options, instance, log });
  },
};
