import type { Command } from 'commander';
import type { ShownAccount } from '../../operator/operator.js';
import { printable } from '../../logging/printable.js';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { moreJson, moreText, pageRequest, withPaging, type PageOptions } from '../operator/paging.js';
import { accountJson, storageJson } from '../../operator/records.js';
import { storageText } from '../operator/storage-records.js';
import { facts, isoTime, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './examples.js';
import { addSuspend } from './suspend.js';

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
