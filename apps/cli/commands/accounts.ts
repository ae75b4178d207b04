import { type Command, Option } from 'commander';
import { printable } from '../../logging/logged-fields.js';
import type { ShownAccount, Suspended } from '../../operator/operator.js';
import { accountJson, storageJson } from '../../operator/records.js';
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
import { storageText } from '../operator/texts.js';
import { facts, isoTime, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './client-command.js';

const ABOUT =
  'Every process refuses its keys within 5 seconds. What was accepted before is finished and charged, unless --work says cancel.';

/** `darkroom accounts suspend` and `resume`. */
export function addSuspend(accounts: Command, io: CliIo): void {
  operatorCommand(accounts, 'suspend <account_id>')
    .description('stop an account from spending until it is resumed')
    .addOption(
      new Option('--work <what>', 'what happens to its open generations')
        .choices(['finish', 'cancel'])
        .default('finish'),
    )
    .addHelpText(
      'after',
      examples(
        [`darkroom accounts suspend ${EXAMPLE_ID}`, `darkroom accounts suspend ${EXAMPLE_ID} --work cancel`],
        ABOUT,
      ),
    )
    .action((accountId: string, options: OperatorOptions & { readonly work: string }) =>
      withOperator(io, options, async (operator) => {
        const suspended = await operator.suspendAccount(accountId, { cancelWork: options.work === 'cancel' });
        show(
          io,
          {
            json: { ...accountJson(suspended.account), ...(suspended.work ? { work: suspended.work } : {}) },
            text: suspendedText(suspended),
          },
          options,
        );
      }),
    );
  operatorCommand(accounts, 'resume <account_id>')
    .description('end a suspension; its keys work again within 5 seconds')
    .addHelpText('after', examples([`darkroom accounts resume ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const account = await operator.resumeAccount(accountId);
        show(
          io,
          {
            json: accountJson(account),
            text: `Account ${account.accountId} (${printable(account.name)}) is not suspended.`,
          },
          options,
        );
      }),
    );
}

function suspendedText({ account, work }: Suspended): string {
  const said = `Account ${account.accountId} (${printable(account.name)}) is suspended.`;
  if (work === undefined)
    return account.openHolds === 0 ? said : `${said} Its ${account.openHolds} open generations continue.`;
  const { cancelled, stopping, unfinished } = work;
  const again =
    unfinished === 0 ? '' : ` ${unfinished} were being accepted just now; the same command again cancels them.`;
  return `${said} ${cancelled} generations were cancelled, and ${stopping} are asked to stop.${again}`;
}

/** `darkroom accounts`: who may spend credits. */
export function addAccounts(program: Command, io: CliIo): void {
  const accounts = program.command('accounts').description('accounts, which own credits');
  operatorCommand(accounts, 'create <name>')
    .description('make an account')
    .option('--currency <text>', 'what its credits are called (default: credits)')
    .addHelpText('after', examples(['darkroom accounts create "Northern studio"']))
    .action((name: string, options: OperatorOptions & { readonly currency?: string }) =>
      withOperator(io, options, async (operator) => {
        const account = await operator.createAccount({
          name,
          ...(options.currency ? { currency: options.currency } : {}),
        });
        show(io, { json: accountJson(account), text: accountText(account) }, options);
      }),
    );
  withPaging(operatorCommand(accounts, 'list'))
    .description('list accounts')
    .addHelpText('after', examples(['darkroom accounts list --limit 20']))
    .action((options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async (operator) => {
        const page = await operator.listAccounts(pageRequest(options));
        const rows = page.items.map((a) => [
          a.accountId,
          a.name,
          a.available,
          a.reserved,
          a.spent,
          isoTime(a.createdAt),
          a.suspendedAt === undefined ? '' : isoTime(a.suspendedAt),
        ]);
        const text =
          table(['account', 'name', 'available', 'reserved', 'spent', 'created', 'suspended'], rows) + moreText(page);
        show(io, { json: { accounts: page.items.map(accountJson), ...moreJson(page) }, text }, options);
      }),
    );
  withPaging(operatorCommand(accounts, 'show <account_id>'))
    .description('show one account, and the storage that it and its Apps use')
    .addHelpText('after', examples([`darkroom accounts show ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async (operator) => {
        const account = await operator.getAccount(accountId);
        const storage = await operator.getStorage(accountId, pageRequest(options));
        const text = `${accountText(account)}\n${storageText(storage)}`;
        show(io, { json: { ...accountJson(account), storage: storageJson(storage) }, text }, options);
      }),
    );
  operatorCommand(accounts, 'rename <account_id> <name>')
    .description('rename an account')
    .addHelpText('after', examples([`darkroom accounts rename ${EXAMPLE_ID} "Southern studio"`]))
    .action((accountId: string, name: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const account = await operator.renameAccount(accountId, name);
        show(
          io,
          { json: accountJson(account), text: `Account ${account.accountId} is called ${printable(account.name)}.` },
          options,
        );
      }),
    );
  addSuspend(accounts, io);
}

export function accountText(account: ShownAccount): string {
  return facts([
    ['account', account.accountId],
    ['name', account.name],
    ['currency', account.currency],
    ['created', isoTime(account.createdAt)],
    ['suspended', account.suspendedAt === undefined ? undefined : isoTime(account.suspendedAt)],
    ['issued', account.issued],
    ['available', account.available],
    ['reserved', `${account.reserved} in ${account.openHolds} open generations`],
    ['spent', account.spent],
  ]);
}
