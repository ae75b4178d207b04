import { type Command, Option } from 'commander';
import { printable } from '../../logging/logged-fields.js';
import type { Account, GetAccountStorageResponse, SuspendAccountResponse } from '../../operator/operator.js';
import type { CliIo } from '../io.js';
import {
  EVERYTHING,
  moreText,
  operatorCommand,
  type OperatorOptions,
  type PageOptions,
  pageRequest,
  present,
  withOperator,
  withPaging,
} from '../operator/operator-command.js';
import { facts, isoTime, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './client-command.js';

/** `darkroom accounts`: who may spend credits. */
export function addAccounts(program: Command, io: CliIo): void {
  const accounts = program.command('accounts').description('accounts, which own credits');
  operatorCommand(accounts, 'create <name>')
    .description('make an account')
    .option('--currency <text>', 'what its credits are called (default: credits)')
    .addHelpText('after', examples(['darkroom accounts create "Northern studio"']))
    .action((name: string, options: OperatorOptions & { readonly currency?: string }) =>
      withOperator(io, options, async ({ access }, json) => {
        const { account } = await access.createAccount({ displayName: name, currency: options.currency ?? '' });
        show(io, { json: json(account), text: accountText(present(account)) }, options);
      }),
    );
  withPaging(operatorCommand(accounts, 'list'))
    .description('list accounts')
    .addHelpText('after', examples(['darkroom accounts list --limit 20']))
    .action((options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const page = await access.listAccounts(pageRequest(options));
        const rows = page.accounts.map(({ accountId, displayName, credits, createTime, suspendTime }) => {
          const { available, reserved, spent } = present(credits);
          return [accountId, displayName, available, reserved, spent, isoTime(createTime), isoTime(suspendTime) ?? ''];
        });
        const titles = ['account', 'name', 'available', 'reserved', 'spent', 'created', 'suspended'];
        show(io, { json: json(page), text: table(titles, rows) + moreText(page) }, options);
      }),
    );
  withPaging(operatorCommand(accounts, 'show <account_id>'))
    .description('show one account, and the storage that it and its Apps use')
    .addHelpText('after', examples([`darkroom accounts show ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const { account } = await access.getAccount({ accountId });
        const storage = await access.getAccountStorage({ accountId, ...pageRequest(options) });
        const text = `${accountText(present(account))}\n${storageText(storage)}`;
        show(io, { json: { ...json(account), storage: json(storage) }, text }, options);
      }),
    );
  operatorCommand(accounts, 'rename <account_id> <name>')
    .description('rename an account')
    .addHelpText('after', examples([`darkroom accounts rename ${EXAMPLE_ID} "Southern studio"`]))
    .action((accountId: string, displayName: string, options: OperatorOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const account = present((await access.renameAccount({ accountId, displayName })).account);
        const text = `Account ${account.accountId} is called ${printable(account.displayName)}.`;
        show(io, { json: json(account), text }, options);
      }),
    );
  addSuspend(accounts, io);
}

const ABOUT =
  'Every process refuses its keys within 5 seconds. What was accepted before is finished and charged, unless --work says cancel.';

/** `darkroom accounts suspend` and `resume`. */
function addSuspend(accounts: Command, io: CliIo): void {
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
      withOperator(io, options, async ({ access }, json) => {
        const cancelWork = options.work === 'cancel';
        const suspended = await access.suspendAccount({ accountId, cancelWork }, cancelWork ? EVERYTHING : {});
        const { account, ...work } = json(suspended);
        show(io, { json: { ...(account as object), ...work }, text: suspendedText(suspended) }, options);
      }),
    );
  operatorCommand(accounts, 'resume <account_id>')
    .description('end a suspension; its keys work again within 5 seconds')
    .addHelpText('after', examples([`darkroom accounts resume ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions) =>
      withOperator(io, options, async ({ access }, json) => {
        const account = present((await access.resumeAccount({ accountId })).account);
        const text = `Account ${account.accountId} (${printable(account.displayName)}) is not suspended.`;
        show(io, { json: json(account), text }, options);
      }),
    );
}

function suspendedText({ account, cancelledWork }: SuspendAccountResponse): string {
  const { accountId, displayName, credits } = present(account);
  const said = `Account ${accountId} (${printable(displayName)}) is suspended.`;
  if (cancelledWork === undefined) {
    const { openHolds } = present(credits);
    return openHolds === 0 ? said : `${said} Its ${openHolds} open generations continue.`;
  }
  const { cancelled, stopping, unfinished } = cancelledWork;
  const again =
    unfinished === 0 ? '' : ` ${unfinished} were being accepted just now; the same command again cancels them.`;
  return `${said} ${cancelled} generations were cancelled, and ${stopping} are asked to stop.${again}`;
}

function accountText({ accountId, displayName, currency, createTime, suspendTime, credits }: Account): string {
  const { issued, available, reserved, spent, openHolds } = present(credits);
  return facts([
    ['account', accountId],
    ['name', displayName],
    ['currency', currency],
    ['created', isoTime(createTime)],
    ['suspended', isoTime(suspendTime)],
    ['issued', issued],
    ['available', available],
    ['reserved', `${reserved} in ${openHolds} open generations`],
    ['spent', spent],
  ]);
}

function storageText({ unchargedContent, apps, limits, nextPageToken }: GetAccountStorageResponse): string {
  const { bytes, generations } = present(unchargedContent);
  const { unchargedContentBytes, uploads, unfinishedUploads, uploadBytes } = present(limits);
  const lines = facts([
    ['uncharged content', `${bytes} of ${unchargedContentBytes} bytes, of ${generations} generations`],
    ['an App may have', `${uploads} uploads, ${unfinishedUploads} of them unfinished, ${uploadBytes} bytes`],
  ]);
  const rows = apps.map((app) => [app.appId, app.displayName, app.uploads, app.unfinishedUploads, app.uploadBytes]);
  return `${lines}\n\n${table(['app', 'name', 'uploads', 'unfinished', 'bytes'], rows)}${moreText({ nextPageToken })}`;
}
