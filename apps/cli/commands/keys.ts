import { DEFAULT_SCOPES, SCOPES } from '../../../core/access/credential.js';
import { printable } from '../../logging/logged-fields.js';
import type { ApiKey } from '../../operator/operator.js';
import { type CliCommand, collect, EXAMPLE_ID, listCommand, operatorCommand, readCredits } from '../command.js';
import { usageFailure } from '../exit.js';
import { type Operator, present } from '../operator/with-operator.js';
import { amountText, facts, isoDate, isoTime, msOf, type Shown } from '../terminal.js';

interface CreateOptions {
  readonly name: string;
  readonly scope?: readonly string[];
  readonly expires?: string;
  readonly monthlyCap?: string;
}

/** `darkroom keys`: API keys. A key's secret is shown when it is made and never again. */
export function addKeys(program: CliCommand): void {
  const keys = program.command('keys').description('API keys');
  operatorCommand(keys, 'create <app_id>')
    .description('create a key for an App and show its secret, once')
    .requiredOption('--name <name>', 'what the key is for')
    .option(
      '--scope <scope>',
      `what the key may do (repeatable; all but webhooks:manage if omitted): ${SCOPES.join(', ')}`,
      collect,
    )
    .option('--expires <when>', 'when it ends: 90d, 12h, 30m, 2030-01-31, 2030-01-31T12:00:00Z')
    .option('--monthly-cap <credits>', 'how much it may spend in each calendar month (UTC); no cap if omitted')
    .examples([
      `darkroom keys create ${EXAMPLE_ID} --name laptop --monthly-cap 500`,
      `darkroom keys create ${EXAMPLE_ID} --name dashboard --scope credits:read --expires 90d`,
    ])
    .operates(create);
  listCommand(keys, 'list <account_id>')
    .description("list an account's keys, with the day of their last use and a hint of their secrets")
    .examples([`darkroom keys list ${EXAMPLE_ID}`])
    .operates(async ({ access, paging, listed }, accountId: string) => {
      const page = await access.listApiKeys({ accountId, ...paging });
      const rows = page.apiKeys.map((key) => [
        key.keyId,
        key.displayName,
        key.hint,
        key.appId,
        stateOf(key, Date.now()),
        key.createTime,
        isoDate(key.lastUseTime),
        key.monthlyCap?.toString(),
        key.scopes.join(' '),
      ]);
      const titles = ['key', 'name', 'secret', 'app', 'state', 'created', 'last used', 'monthly cap', 'scopes'];
      return listed(page, titles, rows);
    });
  operatorCommand(keys, 'revoke <key_id>')
    .description('end a key for good; every process refuses it within 5 seconds')
    .examples([`darkroom keys revoke ${EXAMPLE_ID}`])
    .operates(async ({ access, shown }, keyId: string) => {
      const { apiKey } = await access.revokeApiKey({ keyId });
      return shown(apiKey, (key) => `Key ${key.keyId} (${key.displayName}) is revoked.`);
    });
  operatorCommand(keys, 'expire <key_id> <when>')
    .description('set when a key ends: now, 90d, 12h, 30m, 2030-01-31, 2030-01-31T12:00:00Z')
    .examples([`darkroom keys expire ${EXAMPLE_ID} 30d`, `darkroom keys expire ${EXAMPLE_ID} now`])
    .operates(async ({ access, shown }, keyId: string, when: string) => {
      const { apiKey } = await access.expireApiKey({ keyId, expireTime: await messageTime(when) });
      const ends = ({ displayName, expireTime }: ApiKey) => `(${displayName}) ends at ${isoTime(present(expireTime))}.`;
      return shown(apiKey, (key) => `Key ${key.keyId} ${ends(key)}`);
    });
}

async function create({ access, json }: Operator, appId: string, options: CreateOptions): Promise<Shown> {
  const { name: displayName, scope: scopes = DEFAULT_SCOPES, expires, monthlyCap } = options;
  const { apiKey, secret } = await access.createApiKey({
    appId,
    displayName,
    scopes: [...scopes],
    expireTime: expires === undefined ? undefined : await messageTime(expires),
    monthlyCap: monthlyCap === undefined ? undefined : BigInt(readCredits('--monthly-cap', monthlyCap)),
  });
  const key = present(apiKey);
  const text = facts({
    'key': key.keyId,
    'name': key.displayName,
    'scopes': key.scopes.join(' '),
    'monthly cap': key.monthlyCap === undefined ? undefined : amountText(key.monthlyCap),
    'expires': key.expireTime,
    secret,
  });
  return { json: { ...json(key), secret }, text, notes: [SECRET_NOTE] };
}

/** The text below a new secret. */
export const SECRET_NOTE = 'The secret is kept nowhere else and cannot be shown again.';

function stateOf({ revokeTime, expireTime }: ApiKey, now: number): string {
  if (revokeTime !== undefined) return 'revoked';
  const expiresAt = msOf(expireTime);
  if (expiresAt === undefined) return 'active';
  return expiresAt <= now ? 'expired' : `until ${isoTime(expiresAt)}`;
}

/** Loaded only now, as the messages are. */
async function messageTime(when: string) {
  const { timestamp } = await import('../../grpc/enums.js');
  return timestamp(readTime(when, Date.now()));
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads `now`, a span from now such as 90d, 12h or 30m, or an ISO date or time (UTC when it is a date). Milliseconds.
 */
export function readTime(text: string, now: number): number {
  const span = /^([0-9]{1,6})([mhd])$/.exec(text);
  const at =
    text === 'now'
      ? now
      : span
        ? now + Number(span[1]) * (UNIT_MS[span[2] ?? ''] ?? 0)
        : ISO.test(text)
          ? Date.parse(text)
          : NaN;
  if (!Number.isFinite(at))
    throw usageFailure(`A time is written as now, 90d, 12h, 30m, 2030-01-31 or 2030-01-31T12:00:00Z, not ${text}.`);
  return at;
}

/** `darkroom apps`: an account's Apps, each with its own keys and tasks. */
export function addApps(program: CliCommand): void {
  const apps = program.command('apps').description("an account's Apps, which own keys, uploads and generations");
  operatorCommand(apps, 'create <account_id> <name>')
    .description('make an App')
    .examples([`darkroom apps create ${EXAMPLE_ID} website`])
    .operates(async ({ access, shown }, accountId: string, displayName: string) => {
      const { app } = await access.createApp({ accountId, displayName });
      return shown(app, (made) => facts({ app: made.appId, account: made.accountId, name: made.displayName }));
    });
  operatorCommand(apps, 'rename <app_id> <name>')
    .description('rename an App')
    .examples([`darkroom apps rename ${EXAMPLE_ID} website`])
    .operates(async ({ access, shown }, appId: string, displayName: string) => {
      const { app } = await access.renameApp({ appId, displayName });
      return shown(app, (renamed) => `App ${renamed.appId} is called ${printable(renamed.displayName)}.`);
    });
  listCommand(apps, 'list [account_id]')
    .description('list the Apps of an account; of the only account without an id')
    .examples(['darkroom apps list', `darkroom apps list ${EXAMPLE_ID}`])
    .operates(async ({ access, paging, listed }, accountId: string | undefined) => {
      const page = await access.listApps({ accountId: accountId ?? (await onlyAccount(access)), ...paging });
      const rows = page.apps.map((app) => [app.appId, app.displayName, app.createTime]);
      return listed(page, ['app', 'name', 'created'], rows);
    });
}

/** The id of the account, where there is one only. Throws one sentence otherwise. */
async function onlyAccount(access: Operator['access']): Promise<string> {
  const { accounts } = await access.listAccounts({ pageSize: 2, pageToken: '' });
  const [account] = accounts;
  if (account === undefined)
    throw usageFailure('There is no account yet; make one with darkroom accounts create <name>.');
  if (accounts.length > 1)
    throw usageFailure('There are several accounts: name one by its id, which darkroom accounts list shows.');
  return account.accountId;
}
