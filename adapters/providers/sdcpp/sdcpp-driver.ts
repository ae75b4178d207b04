import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { refusedByFields } from '../shared/refused-values.js';
import { parametersOfFields } from '../shared/request-fields.js';
import { sdcppCapabilities } from './sdcpp-capabilities.js';
import { settingsFault } from './sdcpp-settings.js';

/** sd-server of stable-diffusion.cpp, by its native routes. */
export const sdcppDriver: ProviderDriver = {
  kind: 'provider',
  name: 'sdcpp',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['base_url'],
    properties: connectionOptions(),
  },
  settingsFault,

  parametersSent: parametersOfFields,

  refusedValues: refusedByFields,
  sendsCount: true,

  capabilities: sdcppCapabilities,

  async open({ options, instance, log, memory }) {
    const [{ openConnection }, { SdcppProvider }] = await Promise.all([
      import('../shared/connection.js'),
      import('./sdcpp-provider.js'),
    ]);
    return new SdcppProvider({ connection: openConnection({ options, instance }), instance, log, memory });
  },
};
