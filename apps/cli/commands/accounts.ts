import { Option } from 'commander';
import { printable } from '../../logging/logged-fields.js';
import type { Account, GetAccountStorageResponse, SuspendAccountResponse } from '../../operator/operator.js';
import { type CliCommand, EXAMPLE_ID, listCommand, operatorCommand } from '../command.js';
import { EVERYTHING, moreText, present } from '../operator/with-operator.js';
import { addEraseAccount } from './erasure.js';
import { facts, table } from '../terminal.js';

/** `darkroom accounts`: who may spend credits. */
export function addAccounts(program: CliCommand): void {
  const accounts = program.command('accounts').description('accounts, which own credits');
  operatorCommand(accounts, 'create <name>')
    .description('make an account')
    .option('--currency <text>', 'what its credits are called (default: credits)')
    .examples(['darkroom accounts create "Northern studio"'])
    .operates(async ({ access, shown }, displayName: string, { currency = '' }: { readonly currency?: string }) => {
      const { account } = await access.createAccount({ displayName, currency });
      return shown(account, accountText);
    });
  listCommand(accounts, 'list')
    .description('list accounts')
    .examples(['darkroom accounts list --limit 20'])
    .operates(async ({ access, paging, listed }) => {
      const page = await access.listAccounts(paging);
      const rows = page.accounts.map(({ accountId, displayName, credits, createTime, suspendTime }) => {
        const { available, reserved, spent } = present(credits);
        return [accountId, displayName, available, reserved, spent, createTime, suspendTime];
      });
      return listed(page, ['account', 'name', 'available', 'reserved', 'charged', 'created', 'suspended'], rows);
    });
  listCommand(accounts, 'show <account_id>')
    .description('show one account, and the storage that it and its Apps use')
    .examples([`darkroom accounts show ${EXAMPLE_ID}`])
    .operates(async ({ access, json, paging }, accountId: string) => {
      const { account } = await access.getAccount({ accountId });
      const storage = await access.getAccountStorage({ accountId, ...paging });
      const text = `${accountText(present(account))}\n${storageText(storage)}`;
      return { json: { ...json(account), storage: json(storage) }, text };
    });
  operatorCommand(accounts, 'rename <account_id> <name>')
    .description('rename an account')
    .examples([`darkroom accounts rename ${EXAMPLE_ID} "Southern studio"`])
    .operates(async ({ access, shown }, accountId: string, displayName: string) => {
      const { account } = await access.renameAccount({ accountId, displayName });
      return shown(account, (renamed) => `Account ${renamed.accountId} is called ${printable(renamed.displayName)}.`);
    });
  addSuspend(accounts);
  addEraseAccount(accounts);
}

const ABOUT =
  'Every process refuses its keys within 5 seconds. What was accepted before is finished and charged, unless --work says cancel.';

/** `darkroom accounts suspend` and `resume`. */
function addSuspend(accounts: CliCommand): void {
  operatorCommand(accounts, 'suspend <account_id>')
    .description('stop an account from spending until it is resumed')
    .addOption(
      new Option('--work <what>', 'what happens to its open generations')
        .choices(['finish', 'cancel'])
        .default('finish'),
    )
    .examples(
      [`darkroom accounts suspend ${EXAMPLE_ID}`, `darkroom accounts suspend ${EXAMPLE_ID} --work cancel`],
      ABOUT,
    )
    .operates(async ({ access, json }, accountId: string, { work: what }: { readonly work: string }) => {
      const cancelWork = what === 'cancel';
      const suspended = await access.suspendAccount({ accountId, cancelWork }, cancelWork ? EVERYTHING : {});
      const { account, ...work } = json(suspended);
      return { json: { ...(account as object), ...work }, text: suspendedText(suspended) };
    });
  operatorCommand(accounts, 'resume <account_id>')
    .description('end a suspension; its keys work again within 5 seconds')
    .examples([`darkroom accounts resume ${EXAMPLE_ID}`])
    .operates(async ({ access, shown }, accountId: string) => {
      const { account } = await access.resumeAccount({ accountId });
      return shown(account, (resumed) => `${accountName(resumed)} is not suspended.`);
    });
}

function accountName({ accountId, displayName }: Account): string {
  return `Account ${accountId} (${printable(displayName)})`;
}

function suspendedText({ account, cancelledWork }: SuspendAccountResponse): string {
  const said = `${accountName(present(account))} is suspended.`;
  if (cancelledWork === undefined) {
    const { openHolds } = present(present(account).credits);
    return openHolds === 0 ? said : `${said} Its ${openHolds} open generations continue.`;
  }
  const { cancelled, stopping, unfinished } = cancelledWork;
  const again =
    unfinished === 0 ? '' : ` ${unfinished} were being accepted just now; the same command again cancels them.`;
  return `${said} ${cancelled} generations were cancelled, and ${stopping} are asked to stop.${again}`;
}

function accountText(account: Account): string {
  const { accountId, displayName, currency, createTime, suspendTime, eraseTime, credits } = account;
  const { issued, available, reserved, spent, openHolds } = present(credits);
  return facts({
    account: accountId,
    name: displayName,
    currency,
    created: createTime,
    suspended: suspendTime,
    erased: eraseTime,
    issued,
    available,
    reserved: `${reserved} in ${openHolds} open generations`,
    charged: spent,
  });
}

function storageText(storage: GetAccountStorageResponse): string {
  const { bytes, generations } = present(storage.unchargedContent);
  const { unchargedContentBytes, uploads, unfinishedUploads, uploadBytes } = present(storage.limits);
  const thumbnails = present(storage.thumbnails);
  const lines = facts({
    'thumbnails': `${thumbnails.bytes} bytes, of ${thumbnails.generations} generations`,
    'uncharged content': `${bytes} of ${unchargedContentBytes} bytes, of ${generations} generations`,
    'an App may have': `${uploads} uploads, ${unfinishedUploads} of them unfinished, ${uploadBytes} bytes`,
  });
  const rows = storage.apps.map((a) => [a.appId, a.displayName, a.uploads, a.unfinishedUploads, a.uploadBytes]);
  return `${lines}\n\n${table(['app', 'name', 'uploads', 'unfinished', 'bytes'], rows)}${moreText(storage)}`;
}
