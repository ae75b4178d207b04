import type { JsonObject } from '../../../core/json.js';
import type { ProviderCall, ProviderCheck } from '../../../core/ports/provider.js';
import { connectionFault, jsonOfCheck, keyFault } from '../shared/check-faults.js';
import type { Connection } from '../shared/connection.js';
import { readSettings, type ReplicateSettings } from './replicate-settings.js';

interface Asked {
  readonly status: number;
  /** The limit for the answer about an account; the answers for models are long, and not read. */
  readonly body?: unknown;
}

/** Asks who the key belongs to, and for each model of the settings. Makes nothing. */
export async function checkConnection(
  connection: Connection,
  settings: readonly JsonObject[],
  call: ProviderCall,
): Promise<ProviderCheck> {
  try {
    const account = await ask(connection, ['account'], call);
    const fault = accountFault(account.status, account.body, connection);
    if (fault !== undefined) return { faults: [fault] };
    const faults: string[] = [];
    for (const [name, segments] of targetsOf(settings)) {
      const { status } = await ask(connection, segments, call);
      if (status === 404 || status === 403) faults.push(`${name} does not exist, or this key may not use it.`);
      else if (status !== 200) faults.push(`${name} could not be looked up (status ${status}).`);
    }
    return { about: 'Replicate', faults };
  } catch (error) {
    return { faults: [connectionFault(error, connection.base)] };
  }
}

function accountFault(status: number, body: unknown, connection: Connection): string | undefined {
  const { base } = connection;
  if (status === 401 || status === 403) return keyFault(connection, `The key is refused at ${base}; check api_key.`);
  if (status === 200 && typeof body === 'object' && body !== null && 'username' in body) return undefined;
  return `${base} is not the API of Replicate (status ${status}); check base_url.`;
}

/** Each model, version or deployment once, with the path to it. */
function targetsOf(settings: readonly JsonObject[]): ReadonlyMap<string, readonly string[]> {
  const targets = new Map<string, readonly string[]>();
  for (const given of settings) {
    const read = readSettings(given);
    if ('fault' in read) continue;
    const [name, segments] = targetOf(read.settings);
    targets.set(name, segments);
  }
  return targets;
}

function targetOf({ model = '', version, deployment }: ReplicateSettings): readonly [string, readonly string[]] {
  if (deployment !== undefined) return [`The deployment ${deployment}`, ['deployments', ...deployment.split('/')]];
  const segments = ['models', ...model.split('/')];
  if (version === undefined) return [`The model ${model}`, segments];
  return [`The version ${version.slice(0, 8)} of ${model}`, [...segments, 'versions', version]];
}

async function ask(connection: Connection, segments: readonly string[], { signal }: ProviderCall): Promise<Asked> {
  const url = connection.urlOf(...segments);
  const headers = { ...connection.credentials, accept: 'application/json' };
  const answer = await connection.client.request({ method: 'GET', url, headers, signal });
  const { status } = answer;
  const isAccount = segments.length === 1;
  if (isAccount && answer.isOk) return { status, body: await jsonOfCheck(answer) };
  answer.discard();
  return { status };
}
