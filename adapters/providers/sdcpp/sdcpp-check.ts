import type { JsonObject } from '../../../core/json.js';
import type { ProviderCheck } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { connectionFault, keyFault } from '../shared/check-faults.js';
import type { Connection } from '../shared/connection.js';
import { isObject } from '../shared/json-members.js';
import { readSettings, type SdcppSettings } from './sdcpp-settings.js';

const MAX_CAPABILITIES_BYTES = 1024 * 1024;

/** Fields whose texts must be among those that the server lists. */
const LISTED = {
  'sample_params.sample_method': 'samplers',
  'sample_params.scheduler': 'schedulers',
} as const;

/** Asks the server for what it can do, and holds the settings against it. Makes nothing. */
export async function checkServer(
  connection: Connection,
  ask: () => Promise<HttpAnswer>,
  settings: readonly JsonObject[],
): Promise<ProviderCheck> {
  const { base } = connection;
  try {
    const answer = await ask();
    const { status } = answer;
    const capabilities = status === 200 ? await answer.json(MAX_CAPABILITIES_BYTES) : answer.discard();
    if (status === 401 || status === 403)
      return { faults: [keyFault(connection, `The key is refused at ${base}; check api_key.`)] };
    if (!isObject(capabilities) || !Array.isArray(capabilities['supported_modes']))
      return { faults: [`${base} is not sd-server with its native routes (status ${status}); check base_url.`] };
    return { ...aboutOf(capabilities), faults: [...new Set(faultsOf(capabilities, settings))] };
  } catch (error) {
    return { faults: [connectionFault(error, base)] };
  }
}

function aboutOf({ model }: Capabilities): { readonly about?: string } {
  const name = isObject(model) ? model['name'] : undefined;
  return typeof name === 'string' && /^[\w .()+-]{1,100}$/.test(name) ? { about: `sd-server with ${name}` } : {};
}

function* faultsOf(capabilities: Capabilities, models: readonly JsonObject[]): Generator<string> {
  const modes = textsOf(capabilities['supported_modes']);
  if (!modes.includes('img_gen')) yield 'The server has a model that makes no pictures.';
  for (const model of models) {
    const settings = readSettings(model);
    if ('fault' in settings) yield settings.fault;
    else yield* settingsFaults(capabilities, settings);
  }
}

function* settingsFaults(capabilities: Capabilities, { fields, loras }: SdcppSettings): Generator<string> {
  const byMode = capabilities['output_formats_by_mode'];
  const known = {
    ...Object.fromEntries(Object.entries(LISTED).map(([field, list]) => [field, textsOf(capabilities[list])])),
    output_format: textsOf(isObject(byMode) ? byMode['img_gen'] : undefined),
  };
  for (const [field, names] of Object.entries<readonly string[]>(known)) {
    const rule = fields[field];
    for (const value of rule?.enum ?? [rule?.value])
      if (typeof value === 'string' && !names.includes(value))
        yield `The server has no ${value} for fields.${field}; it has ${names.slice(0, 40).join(', ')}.`;
  }
  const paths = listOf(capabilities['loras']).map((lora) => (isObject(lora) ? lora['path'] : undefined));
  for (const { path } of loras) if (!paths.includes(path)) yield `The server has no LoRA file ${path}.`;
}

type Capabilities = Readonly<Record<string, unknown>>;

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Names as the server writes them; what is none is left out. */
function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((one): one is string => typeof one === 'string' && /^[\w .+()-]{1,60}$/.test(one));
}
