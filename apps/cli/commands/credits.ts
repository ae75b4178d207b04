import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import { type ErrorCode, ServiceError } from '../../../core/errors.js';
import { amountText } from '../amount.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { failureOf, OutcomeUnknown } from '../client/failures.js';
import { EXIT, Failure, usageFailure, withMore } from '../exit.js';
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
import { isoTime, show, table } from '../terminal.js';
import { clientCommand, EXAMPLE_ID, examples } from './client-command.js';

type BalanceOptions = ConnectionOptions & { readonly json?: boolean };

/** `darkroom credits`: the balance of the key's account. */
export function addCredits(program: Command, io: CliIo): void {
  clientCommand(program, 'credits')
    .description("show the account's balance")
    .addHelpText('after', examples(['darkroom credits', 'darkroom credits --json']))
    .action((options: BalanceOptions) => showBalance(io, options));
}

async function showBalance(io: CliIo, options: BalanceOptions): Promise<void> {
  const data = await connect(io, options).credits();
  show(io, { json: data, text: amountText(data.balance_credits, data.currency) }, options);
}

interface CreditOperationOptions extends OperatorOptions {
  readonly operationId?: string;
  readonly reason: string;
}

/** `darkroom grants` and `darkroom adjustments`: grant credits to an account, and correct mistakes. */
export function addCreditOperations(program: Command, io: CliIo): void {
  const grants = program.command('grants').description('credits given to accounts');
  operatorCommand(grants, 'create <account_id> <credits>')
    .description('give credits to an account')
    .option('--reason <text>', 'why', 'Grant')
    .option('--operation-id <id>', 'names the grant, so that repeating it changes nothing')
    .addHelpText('after', examples([`darkroom grants create ${EXAMPLE_ID} 5000 --operation-id invoice-1042`]))
    .action((accountId: string, credits: string, options: CreditOperationOptions) =>
      operate(io, 'grantCredits', accountId, credits, options),
    );

  const adjustments = program.command('adjustments').description('corrections of granted credits');
  operatorCommand(adjustments, 'create <account_id> <credits>')
    .description('add credits, or take them back with a number below 0')
    .requiredOption('--reason <text>', 'why')
    .option('--operation-id <id>', 'names the adjustment, so that repeating it changes nothing')
    .addHelpText('after', examples([`darkroom adjustments create ${EXAMPLE_ID} -200 --reason "granted twice"`]))
    .action((accountId: string, credits: string, options: CreditOperationOptions) =>
      operate(io, 'adjustCredits', accountId, credits, options),
    );
}

function operate(
  io: CliIo,
  make: 'grantCredits' | 'adjustCredits',
  accountId: string,
  credits: string,
  options: CreditOperationOptions,
): Promise<void> {
  if (!/^-?[0-9]+$/.test(credits)) throw usageFailure(`Credits must be a whole number, not ${credits}.`);
  if (!Number.isSafeInteger(Number(credits)))
    throw usageFailure(
      `Credits must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, not ${credits}.`,
    );
  return withOperator(io, options, async (operator, json) => {
    // One id for all tries, so that they are one operation.
    const operationId = options.operationId ?? randomUUID();
    const operation = { accountId, operationId, credits: BigInt(credits), reason: options.reason };
    const operated = await operator.credits[make](operation).catch((error: unknown) => {
      throw unheard(error, operationId);
    });
    const account = present(operated.account);
    // A generated id is new, so an operation that exists already is an earlier try whose answer was lost.
    const repeatedAt = options.operationId === undefined ? undefined : isoTime(operated.earlierTime);
    const available = amountText(present(account.credits).available, account.currency);
    const balance = `${account.displayName} has ${available} available`;
    const text =
      repeatedAt === undefined
        ? `${balance} (operation ${operationId}).`
        : `The operation ${operationId} was made already at ${repeatedAt}; nothing changed. ${balance}.`;
    const shown = { operation_id: operationId, repeated: repeatedAt !== undefined, account: json(account) };
    show(io, { json: shown, text }, options);
  });
}

/**
 * Codes that prove that the operation was never made, and that no try still in flight can make it: accounts are never
 * removed, and an id names one operation forever. Other refusals prove nothing, because the balance and the
 * permissions of the caller may change between two tries.
 */
const NEVER_MADE: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'CONFLICT']);

/** An operation without a response may have been made, unless all its tries were refused or none was sent. */
function unheard(error: unknown, operationId: string): unknown {
  const { lastTry } = error instanceof OutcomeUnknown ? error : { lastTry: undefined };
  if (lastTry === undefined && (error instanceof ServiceError || error instanceof Failure)) return error;
  if (lastTry instanceof ServiceError && NEVER_MADE.has(lastTry.code)) return lastTry;
  const { message, details } = failureOf(lastTry ?? error);
  return withMore(
    new Failure(message, EXIT.failure, details, lastTry ?? error),
    `Whether it was made is not known; the same command with --operation-id ${operationId} finds out and does not make it twice.`,
    { operation_id: operationId },
  );
}

/** `darkroom ledger`: every movement of an account's credits, oldest first. */
export function addLedger(program: Command, io: CliIo): void {
  withPaging(operatorCommand(program, 'ledger <account_id>'))
    .description("show an account's ledger, oldest entry first")
    .addHelpText(
      'after',
      examples([`darkroom ledger ${EXAMPLE_ID}`, `darkroom ledger ${EXAMPLE_ID} --limit 1000 --json`]),
    )
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async (operator, json) => {
        const page = await operator.credits.listEntries({ accountId, ...pageRequest(options) });
        const rows = page.entries.map((entry) => {
          const words = json(entry) as { readonly kind: string; readonly from: string; readonly to: string };
          return [
            entry.sequence,
            isoTime(entry.createTime),
            words.kind,
            `${words.from} to ${words.to}`,
            entry.credits,
            entry.availableAfter,
            entry.generationId ?? entry.operationId,
            entry.reason,
          ];
        });
        const titles = ['entry', 'at', 'kind', 'moved', 'credits', 'available', 'for', 'reason'];
        show(io, { json: json(page), text: table(titles, rows) + moreText(page) }, options);
      }),
    );
}
