import type { ProviderCall, ProviderCheck } from '../../../core/ports/provider.js';
import { connectionFault, jsonOfCheck, keyFault } from '../shared/check-faults.js';
import type { Connection } from '../shared/connection.js';
import { memberOf } from '../shared/json-members.js';

const FAULTS: Readonly<Record<string, string>> = {
  STARTING: 'The model is still being set up.',
  SETUP_FAILED: 'The setup of the model has failed; see the log of the container.',
  UNHEALTHY: 'The model is not healthy, and takes no tasks until its container is started again.',
  DEFUNCT: 'The model has crashed, and takes no tasks until its container is started again.',
};

/** Asks the container how it is. Makes nothing. */
export async function checkHealth(connection: Connection, { signal }: ProviderCall): Promise<ProviderCheck> {
  const { base, credentials, client } = connection;
  try {
    const url = connection.urlOf('health-check');
    const answer = await client.request({ method: 'GET', url, headers: { ...credentials }, signal });
    const { status: code } = answer;
    if (!answer.isOk) {
      answer.discard();
      if (code === 401 || code === 403)
        return { faults: [keyFault(connection, `The key is refused at ${base}; check api_key.`)] };
      return { faults: [`${base} is no container of Cog (status ${code}); check base_url.`] };
    }
    const health = await jsonOfCheck(answer);
    const status = memberOf(health, 'status');
    if (typeof status !== 'string') return { faults: [`${base} is no container of Cog; check base_url.`] };
    const coglet = memberOf(memberOf(health, 'version'), 'coglet');
    const fault = Object.hasOwn(FAULTS, status) ? FAULTS[status] : undefined;
    const about = typeof coglet === 'string' && /^[\w.+-]{1,40}$/.test(coglet) ? `Cog ${coglet}` : 'Cog';
    return { about, faults: fault === undefined ? [] : [fault] };
  } catch (error) {
    return { faults: [connectionFault(error, base)] };
  }
}
