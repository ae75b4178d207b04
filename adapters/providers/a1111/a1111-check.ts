import type { JsonObject } from '../../../core/json.js';
import { formatFault } from '../../../core/media/image-header.js';
import type { ProviderCall, ProviderCheck } from '../../../core/ports/provider.js';
import { connectionFault, jsonOfCheck, keyFault } from '../shared/check-faults.js';
import type { Connection } from '../shared/connection.js';
import { isObject } from '../shared/json-members.js';
import type { FieldRule } from '../shared/request-fields.js';
import { type A1111Settings, CHECKPOINT, readSettings } from './a1111-settings.js';

/** Extensions add options of their own. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;

/**
 * The parts of a server's description that are used. A list that it does not have is absent: not every one has all of
 * them.
 */
interface Server {
  readonly checkpoints: readonly unknown[];
  readonly samplers?: readonly unknown[];
  readonly schedulers?: readonly unknown[];
  readonly format?: string;
}

/** Asks the server for what it has, and holds the settings against it. Makes nothing. */
export async function checkServer(
  connection: Connection,
  models: readonly JsonObject[],
  call: ProviderCall,
): Promise<ProviderCheck> {
  const { base } = connection;
  try {
    const { status, json: checkpoints } = await ask(connection, 'sd-models', call);
    if (status === 401 || status === 403)
      return {
        faults: [keyFault(connection, `The user name or the password is refused at ${base}; check api_key.`)],
      };
    if (!Array.isArray(checkpoints))
      return {
        faults: [
          `${base} has no API of Stable Diffusion web UI (status ${status}); check base_url, and that it was started with --api.`,
        ],
      };
    const server = { checkpoints, ...(await listsOf(connection, call)) };
    return {
      about: `Stable Diffusion web UI, checkpoints: ${checkpoints.length}`,
      faults: [...new Set(faultsOf(server, models))],
    };
  } catch (error) {
    return { faults: [connectionFault(error, base)] };
  }
}

async function listsOf(connection: Connection, call: ProviderCall): Promise<Omit<Server, 'checkpoints'>> {
  const { json: samplers } = await ask(connection, 'samplers', call);
  const { json: schedulers } = await ask(connection, 'schedulers', call);
  const { json: options } = await ask(connection, 'options', call);
  const format = isObject(options) ? options['samples_format'] : undefined;
  return {
    ...(Array.isArray(samplers) ? { samplers } : {}),
    ...(Array.isArray(schedulers) ? { schedulers } : {}),
    ...(typeof format === 'string' && /^\w{1,20}$/.test(format) ? { format } : {}),
  };
}

/** Without JSON where the server has no such route. */
async function ask(
  connection: Connection,
  list: string,
  { signal }: ProviderCall,
): Promise<{ readonly status: number; readonly json?: unknown }> {
  const { client, credentials } = connection;
  const answer = await client.request({
    method: 'GET',
    url: connection.urlOf('sdapi', 'v1', list),
    headers: { ...credentials, accept: 'application/json' },
    signal,
    limits: { maxBodyBytes: MAX_LIST_BYTES },
  });
  const { status } = answer;
  if (status === 200) return { status, json: await jsonOfCheck(answer) };
  answer.discard();
  return { status };
}

function* faultsOf(server: Server, models: readonly JsonObject[]): Generator<string> {
  const fault = server.format === undefined ? undefined : formatFault(server.format, 'image');
  if (fault !== undefined) yield `The option samples_format of the server: ${fault}`;
  for (const model of models) {
    const settings = readSettings(model);
    if ('fault' in settings) yield settings.fault;
    else yield* settingsFaults(server, settings);
  }
}

function* settingsFaults(server: Server, { fields, override_settings: overrides }: A1111Settings): Generator<string> {
  const checkpoint = overrides[CHECKPOINT];
  if (typeof checkpoint === 'string' && !server.checkpoints.some((known) => isCheckpoint(known, checkpoint)))
    yield `The server has no checkpoint ${checkpoint}; it would use the one that it has loaded.`;
  for (const name of unknownIn(fields['sampler_name'], samplerNames(server)))
    yield `The server has no sampler ${name}.`;
  for (const name of unknownIn(fields['scheduler'], namesIn(server.schedulers)))
    yield `The server has no scheduler ${name}.`;
}

/** The names by which the servers find a checkpoint. */
function isCheckpoint(known: unknown, wanted: string): boolean {
  if (!isObject(known)) return false;
  const { title, model_name: name, hash, sha256, filename } = known;
  const names = [
    title,
    typeof title === 'string' ? title.replace(/ \[[0-9a-f]+\]$/, '') : undefined,
    name,
    hash,
    sha256,
    typeof sha256 === 'string' ? sha256.slice(0, 10) : undefined,
    typeof filename === 'string' ? filename.replace(/^.*[/\\]/, '') : undefined,
  ];
  return names.includes(wanted);
}

/** The names of a rule that are not among these; without a list from the server, none. */
function unknownIn(rule: FieldRule | undefined, known: readonly unknown[] | undefined): readonly string[] {
  if (rule === undefined || known === undefined) return [];
  const { value, values = {}, enum: choices = [] } = rule;
  return [value, ...choices, ...Object.values(values)]
    .filter((name) => typeof name === 'string')
    .filter((name) => !known.includes(name));
}

function namesIn(list: readonly unknown[] | undefined): readonly unknown[] | undefined {
  return list?.filter(isObject).flatMap(({ name, label, aliases }) => [name, label, aliases].flat());
}

/** A sampler is also named with a scheduler behind it, as `DPM++ 2M Karras`. */
function samplerNames({ samplers, schedulers }: Server): readonly unknown[] | undefined {
  const [names, ends] = [namesIn(samplers), namesIn(schedulers) ?? []];
  return names?.flatMap((name) => [name, ...ends.map((end) => `${String(name)} ${String(end)}`)]);
}
