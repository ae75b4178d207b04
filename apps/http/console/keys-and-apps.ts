import { type ApiKey, SCOPES } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { type Cap, periodOf, usedIn } from '../../../core/credits/account.js';
import { fieldInvalid } from '../../../core/fields.js';
import type { JsonObject } from '../../../core/json.js';
import { appsForKeys, createAccountKey, listAccountKeys, revokeAccountKey } from '../../../core/people/own-keys.js';
import { usableApps } from '../../../core/people/sessions.js';
import { type ConsoleOperation, NAME, NAME_WORDING, shownTime } from './console-operation.js';

/** A key as the page shows it: never its secret, nor the digest of it. */
export function renderKey(
  { keyId, appId, name, scopes, monthlyCap, createdAt, expiresAt, revokedAt, lastUsedAt }: ApiKey,
  {
    appName,
    used,
    isOver,
  }: { readonly appName: string | null; readonly used: number | null; readonly isOver: boolean },
): object {
  return {
    id: keyId,
    name,
    app: { id: appId, name: appName },
    scopes,
    monthly_cap: monthlyCap ?? null,
    used_this_month: used,
    created_at: shownTime(createdAt),
    expires_at: shownTime(expiresAt),
    revoked_at: shownTime(revokedAt),
    last_used_on: shownTime(lastUsedAt),
    is_over: isOver,
  };
}

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: NAME,
    scopes: { type: 'array', items: { type: 'string', enum: [...SCOPES] }, minItems: 1, uniqueItems: true },
    expires_at: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{3})?Z$' },
    monthly_cap: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    app_id: { type: 'string', format: 'uuid' },
  },
} as const satisfies JsonObject;

const WORDING = {
  ...NAME_WORDING,
  '/scopes': 'Tick what the key may do.',
  '/expires_at': 'An expiry must be a time such as 2030-01-31T23:59:59Z.',
  '/monthly_cap': 'A limit must be a whole number of credits, not below 0.',
} as const;

interface Sent {
  readonly name: string;
  readonly scopes?: readonly string[];
  readonly expires_at?: string;
  readonly monthly_cap?: number;
  readonly app_id?: string;
}

/** Makes a key. Its secret is in this answer and in no other. */
export const createKey: ConsoleOperation = {
  method: 'POST',
  path: '/keys',
  body: { schema: SCHEMA, wording: WORDING },
  async answer({ context }, { signedIn: { person }, body }) {
    const { name, scopes, expires_at: expiry, monthly_cap: monthlyCap, app_id: appId } = body as unknown as Sent;
    const { key, secret } = await createAccountKey(context, person.accountId, {
      name,
      ...(scopes === undefined ? {} : { scopes }),
      ...(expiry === undefined ? {} : { expiresAt: readTime(expiry) }),
      ...(monthlyCap === undefined ? {} : { monthlyCap }),
      ...(appId === undefined ? {} : { appId }),
    });
    const app = await context.credentials.readApp(key.appId);
    return {
      key: renderKey(key, {
        appName: app?.name ?? null,
        used: key.monthlyCap === undefined ? null : 0,
        isOver: false,
      }),
      secret,
    };
  },
};

function readTime(text: string): number {
  const at = Date.parse(text);
  // A day that does not exist is read as one of the next month.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 19) !== text.slice(0, 19))
    throw fieldInvalid('/expires_at', WORDING['/expires_at']);
  return at;
}

/** The used credits of capped credentials of an account, in their present period. Null for one without a cap. */
export type ReadUse = (credentialId: string, cap: Cap | undefined) => number | null;

/** Reads the account only if some credential has a cap: its holds, which may be many, are read with it. */
export async function readCapUses(
  { accounts, clock }: Pick<Context, 'accounts' | 'clock'>,
  accountId: string,
  hasCaps: boolean,
): Promise<ReadUse> {
  const account = hasCaps ? await accounts.read(accountId) : null;
  return (credentialId, cap) => {
    if (cap === undefined) return null;
    const stored = account?.capUses?.get(credentialId);
    return usedIn(periodOf(cap, stored, clock.now()), stored);
  };
}

/** The number of keys that the page shows, with those that still work first. */
const MAX_SHOWN = 1_000;

export const listKeys: ConsoleOperation = {
  method: 'GET',
  path: '/keys',
  async answer({ context }, { signedIn: { person } }) {
    const { accountId } = person;
    const keys = await listAccountKeys(context, accountId);
    const { items } = await context.credentials.listApps(accountId, { limit: 1_000 });
    const names = new Map(items.map(({ appId, name }) => [appId, name]));
    const usedOf = await readCapUses(
      context,
      accountId,
      keys.some(({ monthlyCap }) => monthlyCap !== undefined),
    );
    const now = context.clock.now();
    const isOver = ({ revokedAt, expiresAt = Infinity }: (typeof keys)[number]) =>
      revokedAt !== undefined || expiresAt <= now;
    const shown = [...keys.filter((key) => !isOver(key)), ...keys.filter(isOver)].slice(0, MAX_SHOWN);
    return {
      keys: shown.map((key) => {
        const cap: Cap | undefined =
          key.monthlyCap === undefined ? undefined : { credits: key.monthlyCap, per: 'month' };
        return renderKey(key, {
          appName: names.get(key.appId) ?? null,
          used: usedOf(key.keyId, cap),
          isOver: isOver(key),
        });
      }),
      total: keys.length,
    };
  },
};

export const revokeKey: ConsoleOperation = {
  method: 'POST',
  path: '/keys/:key_id/revoke',
  async answer({ context }, { ctx, signedIn: { person } }) {
    const { revokedAt } = await revokeAccountKey(context, person.accountId, ctx.params['key_id'] ?? '');
    return { revoked_at: shownTime(revokedAt) };
  },
};

/** The Apps that a key can be made for, the default one first. */
export const listApps: ConsoleOperation = {
  method: 'GET',
  path: '/apps',
  async answer({ context }, { signedIn: { person } }) {
    const { defaultApp, others } = await appsForKeys(context, person.accountId);
    return { apps: [defaultApp, ...others].map(({ appId, name }) => ({ id: appId, name })) };
  },
};

/** The Apps in which the person can look and act, that of the page first. */
export const listUsableApps: ConsoleOperation = {
  method: 'GET',
  path: '/usable-apps',
  async answer({ context }, { signedIn: { person } }) {
    const apps = await usableApps(context, person);
    return { apps: apps.map(({ app, kind }) => ({ id: app.appId, name: app.name, kind })) };
  },
};
