import type { Command } from 'commander';
import { SCOPES } from '../../../core/access/credential.js';
import type { ShownKey } from '../../operator/operator.js';
import { appJson, keyJson } from '../../operator/records.js';
import { amountText } from '../amount.js';
import type { CliIo } from '../io.js';
import {
  moreJson,
  moreText,
  operatorCommand,
  type OperatorOptions,
  type PageOptions,
  pageRequest,
  withOperator,
  withPaging,
} from '../operator/operator-command.js';
import { readCredits, readTime } from '../operator/texts.js';
import { facts, isoDate, isoTime, say, show, table } from '../terminal.js';
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
      withOperator(io, options, async (operator) => {
        const page = await operator.listKeys(accountId, pageRequest(options));
        const rows = page.items.map((key) => [
          key.keyId,
          key.name,
          key.appId,
          stateOf(key, Date.now()),
          isoTime(key.createdAt),
          key.lastUsedAt === undefined ? '' : isoDate(key.lastUsedAt),
          key.monthlyCap === undefined ? '' : String(key.monthlyCap),
          key.scopes.join(' '),
        ]);
        show(
          io,
          {
            json: { keys: page.items.map(keyJson), ...moreJson(page) },
            text:
              table(['key', 'name', 'app', 'state', 'created', 'last used', 'monthly cap', 'scopes'], rows) +
              moreText(page),
          },
          options,
        );
      }),
    );
  operatorCommand(keys, 'revoke <key_id>')
    .description('end a key for good; every process refuses it within 5 seconds')
    .addHelpText('after', examples([`darkroom keys revoke ${EXAMPLE_ID}`]))
    .action((keyId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const key = await operator.revokeKey(keyId);
        show(io, { json: keyJson(key), text: `Key ${key.keyId} (${key.name}) is revoked.` }, options);
      }),
    );
  operatorCommand(keys, 'expire <key_id> <when>')
    .description('set when a key ends: now, 90d, 12h, 30m, 2030-01-31, 2030-01-31T12:00:00Z')
    .addHelpText(
      'after',
      examples([`darkroom keys expire ${EXAMPLE_ID} 30d`, `darkroom keys expire ${EXAMPLE_ID} now`]),
    )
    .action((keyId: string, when: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const key = await operator.expireKey(keyId, readTime(when, Date.now()));
        show(
          io,
          { json: keyJson(key), text: `Key ${key.keyId} (${key.name}) ends at ${isoTime(key.expiresAt ?? 0)}.` },
          options,
        );
      }),
    );
}

function create(io: CliIo, appId: string, options: CreateOptions): Promise<void> {
  return withOperator(io, options, async (operator) => {
    const { key, secret } = await operator.createKey({
      appId,
      name: options.name,
      ...(options.scope === undefined ? {} : { scopes: options.scope }),
      ...(options.expires === undefined ? {} : { expiresAt: readTime(options.expires, Date.now()) }),
      ...(options.monthlyCap === undefined ? {} : { monthlyCap: readCredits('--monthly-cap', options.monthlyCap) }),
    });
    show(
      io,
      {
        json: { ...keyJson(key), secret },
        text: facts([
          ['key', key.keyId],
          ['name', key.name],
          ['scopes', key.scopes.join(' ')],
          ...(key.monthlyCap === undefined ? [] : [['monthly cap', amountText(key.monthlyCap)] as const]),
          ['secret', secret],
        ]),
      },
      options,
    );
    if (!options.json) say(io, 'The secret is kept nowhere else and cannot be shown again.');
  });
}

function stateOf(key: ShownKey, now: number): string {
  if (key.revokedAt !== undefined) return 'revoked';
  if (key.expiresAt === undefined) return 'active';
  return key.expiresAt <= now ? 'expired' : `until ${isoTime(key.expiresAt)}`;
}

/** `darkroom apps`: an account's Apps, each with its own keys and tasks. */
export function addApps(program: Command, io: CliIo): void {
  const apps = program.command('apps').description("an account's Apps, which own keys, uploads and generations");
  operatorCommand(apps, 'create <account_id> <name>')
    .description('make an App')
    .addHelpText('after', examples([`darkroom apps create ${EXAMPLE_ID} website`]))
    .action((accountId: string, name: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const app = await operator.createApp({ accountId, name });
        show(
          io,
          {
            json: appJson(app),
            text: facts([
              ['app', app.appId],
              ['account', app.accountId],
              ['name', app.name],
            ]),
          },
          options,
        );
      }),
    );
  withPaging(operatorCommand(apps, 'list <account_id>'))
    .description('list the Apps of an account')
    .addHelpText('after', examples([`darkroom apps list ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async (operator) => {
        const page = await operator.listApps(accountId, pageRequest(options));
        const rows = page.items.map((app) => [app.appId, app.name, isoTime(app.createdAt)]);
        show(
          io,
          {
            json: { apps: page.items.map(appJson), ...moreJson(page) },
            text: table(['app', 'name', 'created'], rows) + moreText(page),
          },
          options,
        );
      }),
    );
}
