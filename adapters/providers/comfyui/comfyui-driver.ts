import { resolve } from 'node:path';
import { FILLED_TEXT, type Options, type ProviderDriver } from '../../driver.js';
import { connectionOptions } from '../shared/connection-options.js';
import { comfyUiCapabilities, settleMsOf } from './comfyui-capabilities.js';
import { planFault } from './read-workflow.js';

const { base_url: _, ...CONNECTION } = connectionOptions();

/** Workflows on ComfyUI servers. */
export const comfyUiDriver: ProviderDriver = {
  kind: 'provider',
  name: 'comfyui',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['servers'],
    properties: {
      servers: {
        type: 'array',
        minItems: 1,
        maxItems: 64,
        uniqueItems: true,
        items: { type: 'string', format: 'uri', maxLength: 500, pattern: '^https?://[^?#@\\s]+$' },
        errorMessage: 'must list 1 to 64 http or https URLs without a user name and a query',
        description: 'The addresses of the servers. A task goes to the one with the shortest queue.',
      },
      workflow_folder: {
        ...FILLED_TEXT,
        description: 'Where the paths of workflows begin; a relative one begins in the folder of the catalog.',
        default: '.',
      },
      max_queue: {
        type: 'integer',
        minimum: 1,
        maximum: 100_000,
        default: 1_000,
        description: 'Tasks that run and wait on a server, from which on it is full.',
      },
      settle_seconds: {
        type: 'number',
        minimum: 1,
        maximum: 3_600,
        default: 30,
        description: 'How long a request may be on its way. A server that does not know a task is believed after that.',
      },
      ...CONNECTION,
    },
  },

  settingsFault: (settings, { options, catalogFolder, ...model }) =>
    planFault(settings, workflowFolderOf(options, catalogFolder), model),

  imports: {
    what: 'a workflow in API format',
    example: 'workflow.json',
    // The default address of a server.
    newOptions: { servers: ['http://127.0.0.1:8188'] },
    about: `It writes nothing: read what it prints, and what its comments say you should check, before you use it. Export the workflow in
ComfyUI with Workflow > Export (API).`,

    async propose(text, path) {
      const { proposeCatalog } = await import('./propose-model.js');
      return proposeCatalog(text, path);
    },
  },

  capabilities(settings, options, catalogFolder) {
    const { settle_seconds: settleSeconds } = options as { readonly settle_seconds: number };
    return comfyUiCapabilities(settings, workflowFolderOf(options, catalogFolder), settleMsOf(settleSeconds));
  },

  async open({ options, catalogFolder, instance, log, clock, memory }) {
    const { openComfyUi } = await import('./open-comfyui.js');
    const workflowFolder = workflowFolderOf(options, catalogFolder);
    return openComfyUi({ options, workflowFolder, instance, log, clock, memory });
  },
};

function workflowFolderOf({ workflow_folder: folder }: Options, catalogFolder: string): string {
  return resolve(catalogFolder, typeof folder === 'string' ? folder : '.');
}
