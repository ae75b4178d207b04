import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { refusedByFields } from '../shared/refused-values.js';
import { parametersOfFields } from '../shared/request-fields.js';
import { a1111Capabilities } from './a1111-capabilities.js';
import { settingsFault } from './a1111-settings.js';

/** Stable Diffusion web UI of AUTOMATIC1111, Forge and SD.Next. */
export const a1111Driver: ProviderDriver = {
  kind: 'provider',
  name: 'a1111',
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

  capabilities: a1111Capabilities,

  async open({ options, instance, log, memory }) {
    const [{ openConnection }, { A1111Provider }] = await Promise.all([
      import('../shared/connection.js'),
      import('./a1111-provider.js'),
    ]);
    const connection = openConnection({ options, instance, scheme: 'Basic' });
    return new A1111Provider({ connection, instance, log, memory });
  },
};
