import { digestOf } from '../../../apps/grpc/callers.js';
import { SCOPES } from '../../../core/access/credential.js';
import type { JsonObject } from '../../../core/json.js';

const LONG_AGO = '2020-01-01T00:00:00Z';

/**
 * One for each kind of key of a fixture, with its scopes, expiry and revocation. They act for whatever account and App
 * a call names.
 */
const SERVICES: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(['owner', 'poor', 'stranger', 'other-app', 'suspended'].map((kind) => [kind, {}])),
  ...Object.fromEntries(SCOPES.map((scope) => [`only ${scope}`, { scopes: [scope] }])),
  'poor-writer': { scopes: ['generations:write'] },
  'expired': { expires_at: LONG_AGO },
  'revoked': { revoked: true },
};

/** The token of the service that stands for a kind of key. */
export function serviceTokenOf(kind: string): string {
  return `service-token-of-${nameOf(kind)}`;
}

/** The text of a callers' file with all of them. */
export function fixtureCallers(): string {
  const callers = Object.entries(SERVICES).map(([kind, entry]) => ({
    name: nameOf(kind),
    scopes: [...SCOPES],
    token_sha256: digestOf(serviceTokenOf(kind)),
    ...entry,
  }));
  return JSON.stringify({ callers });
}

const nameOf = (kind: string): string => kind.replaceAll(/[^a-z-]/g, '-');
