import type { Command } from 'commander';
import { DEFAULT_SCOPES, SCOPES } from '../../../core/access/credential.js';
import type { ApiKey } from '../../operator/operator.js';
import { amountText, readCredits } from '../amount.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import {
  moreText,
  operatorCommand,
  type OperatorOptions,
  type PageOptions,
  pageRequest,
  present,
  withOperator,
  withPaging,
} from '../operator/operator-command.js';
import { facts, isoDate, isoTime, msOf, say, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './client-command.js';

interface CreateOptions extends OperatorOptions {
  readonly name: string;
  readonly scope?: readonly string[];
  readonly expires?: string;
  readonly monthlyCap?: string;
}

const collect = (value: string, before: readonly string[] | undefined) => [...(before ?? []), value];

/** `darkroom keys`: API keys. A key's secret is shown when it is made and never again. */
export function addKeys(program: Command, io: CliIo): void {
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
    .addHelpText(
      'after',
      examples([
        `darkroom keys create ${EXAMPLE_ID} --name laptop --monthly-cap 500`,
        `darkroom keys create ${EXAMPLE_ID} --name dashboard --scope credits:read --expires 90d`,
      ]),
    )
    .action((appId: string, options: CreateOptions) => create(io, appId, options));
  withPaging(operatorCommand(keys, 'list <account_id>'))
    .description("list an account's keys, with the day of their last use and without their secrets")
    .addHelpText('after', examples([`darkroom keys list ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const page = await access.listApiKeys({ accountId, ...pageRequest(options) });
        const rows = page.apiKeys.map((key) => [
          key.keyId,
          key.displayName,
          key.appId,
          stateOf(key, Date.now()),
          isoTime(key.createTime),
          isoDate(key.lastUseTime) ?? '',
          key.monthlyCap === undefined ? '' : String(key.monthlyCap),
          key.scopes.join(' '),
        ]);
        const titles = ['key', 'name', 'app', 'state', 'created', 'last used', 'monthly cap', 'scopes'];
        show(io, { json: json(page), text: table(titles, rows) + moreText(page) }, options);
      }),
    );
  operatorCommand(keys, 'revoke <key_id>')
    .description('end a key for good; every process refuses it within 5 seconds')
    .addHelpText('after', examples([`darkroom keys revoke ${EXAMPLE_ID}`]))
    .action((keyId: string, options: OperatorOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const key = present((await access.revokeApiKey({ keyId })).apiKey);
        show(io, { json: json(key), text: `Key ${key.keyId} (${key.displayName}) is revoked.` }, options);
      }),
    );
  operatorCommand(keys, 'expire <key_id> <when>')
    .description('set when a key ends: now, 90d, 12h, 30m, 2030-01-31, 2030-01-31T12:00:00Z')
    .addHelpText(
      'after',
      examples([`darkroom keys expire ${EXAMPLE_ID} 30d`, `darkroom keys expire ${EXAMPLE_ID} now`]),
    )
    .action((keyId: string, when: string, options: OperatorOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const expireTime = await messageTime(readTime(when, Date.now()));
        const key = present((await access.expireApiKey({ keyId, expireTime })).apiKey);
        const text = `Key ${key.keyId} (${key.displayName}) ends at ${isoTime(present(key.expireTime))}.`;
        show(io, { json: json(key), text }, options);
      }),
    );
}

function create(io: CliIo, appId: string, options: CreateOptions): Promise<void> {
  const { name: displayName, scope: scopes = DEFAULT_SCOPES, expires, monthlyCap } = options;
  return withOperator(io, options, async ({ access }, json) => {
    const { apiKey, secret } = await access.createApiKey({
      appId,
      displayName,
      scopes: [...scopes],
      ...(expires === undefined ? {} : { expireTime: await messageTime(readTime(expires, Date.now())) }),
      ...(monthlyCap === undefined ? {} : { monthlyCap: BigInt(readCredits('--monthly-cap', monthlyCap)) }),
    });
    const key = present(apiKey);
    const text = facts([
      ['key', key.keyId],
      ['name', key.displayName],
      ['scopes', key.scopes.join(' ')],
      ...(key.monthlyCap === undefined ? [] : [['monthly cap', amountText(key.monthlyCap)] as const]),
      ['secret', secret],
    ]);
    show(io, { json: { ...json(key), secret }, text }, options);
    if (!options.json) say(io, 'The secret is kept nowhere else and cannot be shown again.');
  });
}

function stateOf({ revokeTime, expireTime }: ApiKey, now: number): string {
  if (revokeTime !== undefined) return 'revoked';
  const expiresAt = msOf(expireTime);
  if (expiresAt === undefined) return 'active';
  return expiresAt <= now ? 'expired' : `until ${isoTime(expiresAt)}`;
}

/** Loaded only now, as the messages are. */
async function messageTime(ms: number) {
  const { timestamp } = await import('../../grpc/enums.js');
  return timestamp(ms);
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
export function addApps(program: Command, io: CliIo): void {
  const apps = program.command('apps').description("an account's Apps, which own keys, uploads and generations");
  operatorCommand(apps, 'create <account_id> <name>')
    .description('make an App')
    .addHelpText('after', examples([`darkroom apps create ${EXAMPLE_ID} website`]))
    .action((accountId: string, name: string, options: OperatorOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const app = present((await access.createApp({ accountId, displayName: name })).app);
        const text = facts([
          ['app', app.appId],
          ['account', app.accountId],
          ['name', app.displayName],
        ]);
        show(io, { json: json(app), text }, options);
      }),
    );
  withPaging(operatorCommand(apps, 'list <account_id>'))
    .description('list the Apps of an account')
    .addHelpText('after', examples([`darkroom apps list ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const page = await access.listApps({ accountId, ...pageRequest(options) });
        const rows = page.apps.map((app) => [app.appId, app.displayName, isoTime(app.createTime)]);
        show(io, { json: json(page), text: table(['app', 'name', 'created'], rows) + moreText(page) }, options);
      }),
    );
}
