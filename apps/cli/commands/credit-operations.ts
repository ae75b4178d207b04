import type { Command } from 'commander';
import type { Context } from '../../../core/context.js';
import type { Account } from '../../../core/credits/account.js';
import { adjustCredits, grantCredits, type CreditOperation } from '../../../core/credits/operate.js';
import { amountText } from '../amount.js';
import { usageFailure } from '../exit.js';
import { existingAccount } from '../operator/existing-account.js';
import { operatorCommand, withContext, type OperatorOptions } from '../operator/operator-command.js';
import { accountJson } from '../operator/records.js';
import { isoTime, show } from '../terminal.js';
import { EXAMPLE_ID, examples } from './examples.js';

interface Options extends OperatorOptions {
  readonly operationId?: string;
  readonly reason: string;
}

type Operate = (context: Context, operation: CreditOperation) => Promise<Account>;

/** `darkroom grants` and `darkroom adjustments`: how credits come to an account, and how a mistake is put right. */
export function addCreditOperations(program: Command): void {
  const grants = program.command('grants').description('credits given to accounts');
  operatorCommand(grants, 'create <account_id> <credits>')
    .description('give credits to an account')
    .option('--reason <text>', 'why', 'Grant')
    .option('--operation-id <id>', 'names the grant, so that giving it again changes nothing')
    .addHelpText('after', examples([`darkroom grants create ${EXAMPLE_ID} 5000 --operation-id invoice-1042`]))
    .action((accountId: string, credits: string, options: Options) => operate(grantCredits, accountId, credits, options));

  const adjustments = program.command('adjustments').description('corrections of what was given');
  operatorCommand(adjustments, 'create <account_id> <credits>')
    .description('add credits, or take them back with a number below 0')
    .requiredOption('--reason <text>', 'why')
    .option('--operation-id <id>', 'names the adjustment, so that making it again changes nothing')
    .addHelpText('after', examples([`darkroom adjustments create ${EXAMPLE_ID} -200 --reason "granted twice"`]))
    .action((accountId: string, credits: string, options: Options) => operate(adjustCredits, accountId, credits, options));
}

function operate(make: Operate, accountId: string, credits: string, options: Options): Promise<void> {
  if (!/^-?[0-9]{1,16}$/.test(credits)) throw usageFailure(`Credits must be a whole number, not ${credits}.`);
  return withContext(options, async (context) => {
    await existingAccount(context, accountId);
    const operationId = options.operationId ?? context.ids.uuid();
    const before = await context.accounts.findOperation(accountId, operationId);
    const account = await make(context, { accountId, operationId, credits: Number(credits), reason: options.reason });
    const balance = `${account.name} has ${amountText(account.available, account.currency)} available`;
    // Core has let it pass, so that what stands in the ledger is the same.
    const text = before === null ? `${balance} (operation ${operationId}).` : `The operation ${operationId} was made already at ${isoTime(before.at)}; nothing changed. ${balance}.`;
    show({ json: { operation_id: operationId, repeated: before !== null, account: accountJson(account) }, text }, options);
  });
}
