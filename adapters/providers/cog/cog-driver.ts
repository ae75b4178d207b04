import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { refusedByFields } from '../shared/refused-values.js';
import { parametersOfFields } from '../shared/request-fields.js';
import { cogCapabilities } from './cog-capabilities.js';
import { settingsFault } from './cog-settings.js';

/** A model in a container of Cog, which Replicate's models are packed in. */
export const cogDriver: ProviderDriver = {
  kind: 'provider',
  name: 'cog',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['base_url'],
    properties: {
      ...connectionOptions(),
      max_output_bytes: {
        type: 'integer',
        minimum: 1,
        maximum: 4_294_967_296,
        default: 536_870_912,
        description:
          'The largest result, in bytes. Results of more than 1 MiB wait in a temporary file until they are stored.',
      },
    },
  },

  settingsFault,

  parametersSent: parametersOfFields,

  refusedValues: refusedByFields,

  capabilities: cogCapabilities,

  async open(opening) {
    const { openCog } = await import('./cog-provider.js');
    return openCog(opening);
  },
};
