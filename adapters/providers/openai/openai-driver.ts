import type { ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { openAiCapabilities } from './openai-capabilities.js';
import { modalityFault, neededMaskFault, parametersSent, settingsFault, valuesRefused } from './openai-settings.js';

const MEBIBYTE = 1024 * 1024;

/** Servers with the Images or the Videos API of OpenAI, its own or those of others. */
export const openAiDriver: ProviderDriver = {
  kind: 'provider',
  name: 'openai',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...connectionOptions({ baseUrl: 'https://api.openai.com/v1' }),
      max_output_mib: {
        type: 'integer',
        minimum: 1,
        maximum: 16_384,
        default: 512,
        description: 'The largest picture or video that is taken from the server.',
      },
    },
  },
  settingsFault: (settings, place) =>
    settingsFault(settings) ??
    modalityFault(settings, place.modality) ??
    neededMaskFault(settings, place) ??
    (place.promptRule === 'required'
      ? undefined
      : `This API needs a prompt: prompt must not be ${place.promptRule} for the model.`),

  parametersSent,

  refusedValues: valuesRefused,

  capabilities: openAiCapabilities,

  async open({ options, instance, log, memory }) {
    const { openConnection } = await import('../shared/connection.js');
    const { OpenAiProvider } = await import('./openai-provider.js');
    const { max_output_mib: maxOutputMib } = options as { readonly max_output_mib: number };
    return new OpenAiProvider({
      connection: openConnection({ options, instance }),
      name: instance,
      maxOutputBytes: maxOutputMib * MEBIBYTE,
      log,
      memory,
    });
  },
};
