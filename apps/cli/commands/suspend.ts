import { Option, type Command } from 'commander';
import type { Suspended } from '../../operator/operator.js';
import { printable } from '../../logging/printable.js';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { accountJson } from '../../operator/records.js';
import { show } from '../terminal.js';
import { EXAMPLE_ID, examples } from './examples.js';

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
