import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { outputHostsOption } from '../shared/output-settings.js';
import { AUTH_OPTION, keyHeaderFault } from './auth-option.js';
import { httpJsonCapabilities } from './http-json-capabilities.js';
import { parametersSent, settingsFault, valuesRefused } from './read-settings.js';

/** Models behind an asynchronous HTTP API that the settings of each model describe. */
export const httpJsonDriver: ProviderDriver = {
  kind: 'provider',
  name: 'http-json',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['base_url'],
    properties: {
      ...connectionOptions(),
      auth: AUTH_OPTION,
      answer_hosts: {
        ...outputHostsOption([]),
        description:
          'Hosts beside that of base_url that answers may name to ask for a state or a result, and to cancel; they never get the key.',
      },
      output_hosts: outputHostsOption([]),
      send_credentials: {
        ...outputHostsOption([]),
        description:
          'Hosts that get the key, by their whole names: of answer_hosts and output_hosts, without naming them there, and of base_url for outputs.',
      },
    },
  },

  settingsFault(settings, place) {
    const { options } = place;
    return settingsFault(settings, place) ?? keyHeaderFault(settings, options);
  },

  parametersSent,

  refusedValues: valuesRefused,

  capabilities: httpJsonCapabilities,

  async open(opening) {
    const { openHttpJson } = await import('./http-json-provider.js');
    return openHttpJson(opening);
  },
};
