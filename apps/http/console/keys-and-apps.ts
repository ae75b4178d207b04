import { type ApiKey, SCOPES } from '../../../core/access/credential.js';
import type { Identity, Machine, Money } from '../../../core/context.js';
import { type Cap, periodOf, usedIn } from '../../../core/credits/account.js';
import { fieldInvalid } from '../../../core/fields.js';
import { appsForKeys, createAccountKey, listAccountKeys, revokeAccountKey } from '../../../core/people/own-keys.js';
import { usableApps } from '../../../core/people/sessions.js';
import { bodySchema } from '../host/request.js';
import { type ConsoleOperation, get, NAME, NAME_WORDING, post, postBody, shownTime } from './console-operation.js';

/** The number of keys that the page shows, with those that still work first. */
const MAX_SHOWN = 1_000;

/** The fields of a new key, its App apart. */
export const KEY_FIELDS = {
  name: NAME,
  scopes: {
    type: 'array' as const,
    items: { type: 'string' as const, enum: [...SCOPES] },
    minItems: 1,
    uniqueItems: true,
  },
  expires_at: { type: 'string' as const, pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{3})?Z$' },
  monthly_cap: { type: 'integer' as const, minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
};
const NEW_KEY = bodySchema({ ...KEY_FIELDS, app_id: { type: 'string', format: 'uuid' } }, ['name']);

export const KEY_WORDING = {
  ...NAME_WORDING,
  '/scopes': 'Tick what the key may do.',
  '/expires_at': 'An expiry must be a time such as 2030-01-31T23:59:59Z.',
  '/monthly_cap': 'A limit must be a whole number of credits, not below 0.',
} as const;

/** Keys of the account, and its Apps. */
export const KEY_OPERATIONS: readonly ConsoleOperation<Money & Identity & Machine>[] = [
  /** The Apps that a key can be made for, the default one first. */
  get('/apps', async ({ context }, { signedIn: { person } }) => {
    const { defaultApp, others } = await appsForKeys(context, person.accountId);
    return { apps: [defaultApp, ...others].map(({ appId, name }) => ({ id: appId, name })) };
  }),
  /** The Apps in which the person can look and act, that of the page first. */
  get('/usable-apps', async ({ context }, { signedIn: { person } }) => {
    const apps = await usableApps(context, person);
    return { apps: apps.map(({ app, kind }) => ({ id: app.appId, name: app.name, kind })) };
  }),
  get('/keys', async ({ context }, { signedIn: { person } }) => {
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
        const used = usedOf(key.keyId, key.monthlyCap, 'month');
        return renderKey(key, { appName: names.get(key.appId), used, isOver: isOver(key) });
      }),
      total: keys.length,
    };
  }),
  /** Makes a key. Its secret is in this answer and in no other. */
  postBody(
    '/keys',
    NEW_KEY,
    async ({ context }, { signedIn: { person }, body }) => {
      const { name, scopes, expires_at: expiry, monthly_cap: monthlyCap, app_id: appId } = body;
      const { key, secret } = await createAccountKey(context, person.accountId, {
        name,
        ...(scopes === undefined ? {} : { scopes }),
        ...(expiry === undefined ? {} : { expiresAt: readExpiry(expiry) }),
        ...(monthlyCap === undefined ? {} : { monthlyCap }),
        ...(appId === undefined ? {} : { appId }),
      });
      const app = await context.credentials.readApp(key.appId);
      return {
        key: renderKey(key, { appName: app?.name, used: key.monthlyCap === undefined ? null : 0, isOver: false }),
        secret,
      };
    },
    KEY_WORDING,
  ),
  post('/keys/:key_id/revoke', async ({ context }, { ctx, signedIn: { person } }) => {
    const { revokedAt } = await revokeAccountKey(context, person.accountId, ctx.params['key_id'] ?? '');
    return { revoked_at: shownTime(revokedAt) };
  }),
];

/** A key as the page shows it: of its secret only the hint, and never the digest. */
function renderKey(
  { keyId, appId, name, hint, scopes, monthlyCap, createdAt, expiresAt, revokedAt, lastUsedAt }: ApiKey,
  shown: { readonly appName: string | undefined; readonly used: number | null; readonly isOver: boolean },
): object {
  return {
    id: keyId,
    name,
    hint: hint ?? null,
    app: { id: appId, name: shown.appName ?? null },
    scopes,
    monthly_cap: monthlyCap ?? null,
    used_this_month: shown.used,
    created_at: shownTime(createdAt),
    expires_at: shownTime(expiresAt),
    revoked_at: shownTime(revokedAt),
    last_used_on: shownTime(lastUsedAt),
    is_over: shown.isOver,
  };
}

/** Milliseconds since the epoch. Throws FIELD_INVALID. */
export function readExpiry(text: string): number {
  const at = Date.parse(text);
  // A day that does not exist is read as one of the next month.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 19) !== text.slice(0, 19))
    throw fieldInvalid('/expires_at', KEY_WORDING['/expires_at']);
  return at;
}

/** The used credits of capped credentials of an account, in their present period. Null for one without a cap. */
type ReadUse = (credentialId: string, credits: number | undefined, per: Cap['per']) => number | null;

/** Reads the account only if some credential has a cap: its holds, which may be many, are read with it. */
export async function readCapUses(
  { accounts, clock }: Money & Machine,
  accountId: string,
  hasCaps: boolean,
): Promise<ReadUse> {
  const account = hasCaps ? await accounts.read(accountId) : null;
  return (credentialId, credits, per) => {
    if (credits === undefined) return null;
    const stored = account?.capUses?.get(credentialId);
    return usedIn(periodOf({ credits, per }, stored, clock.now()), stored);
  };
}
