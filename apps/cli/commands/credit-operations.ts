import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { CreditOperation } from '../../../core/credits/operate.js';
import { ServiceError, type ErrorCode } from '../../../core/errors.js';
import type { Operated, Operator } from '../../operator/operator.js';
import { amountText } from '../amount.js';
import { EXIT, Failure, usageFailure, withMore } from '../exit.js';
import { failureOf } from '../failure-of.js';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { accountJson } from '../../operator/records.js';
import { OutcomeUnknown } from '../outcome-unknown.js';
import { isoTime, show } from '../terminal.js';
import { EXAMPLE_ID, examples } from './examples.js';

interface Options extends OperatorOptions {
  readonly operationId?: string;
  readonly reason: string;
}

type Operate = (operator: Operator, operation: CreditOperation) => Promise<Operated>;

/** `darkroom grants` and `darkroom adjustments`: grant credits to an account, and correct mistakes. */
export function addCreditOperations(program: Command, io: CliIo): void {
  const grants = program.command('grants').description('credits given to accounts');
  operatorCommand(grants, 'create <account_id> <credits>')
    .description('give credits to an account')
    .option('--reason <text>', 'why', 'Grant')
    .option('--operation-id <id>', 'names the grant, so that repeating it changes nothing')
    .addHelpText('after', examples([`darkroom grants create ${EXAMPLE_ID} 5000 --operation-id invoice-1042`]))
    .action((accountId: string, credits: string, options: Options) =>
      operate(io, (operator, operation) => operator.grantCredits(operation), accountId, credits, options),
    );

  const adjustments = program.command('adjustments').description('corrections of granted credits');
  operatorCommand(adjustments, 'create <account_id> <credits>')
    .description('add credits, or take them back with a number below 0')
    .requiredOption('--reason <text>', 'why')
    .option('--operation-id <id>', 'names the adjustment, so that repeating it changes nothing')
    .addHelpText('after', examples([`darkroom adjustments create ${EXAMPLE_ID} -200 --reason "granted twice"`]))
    .action((accountId: string, credits: string, options: Options) =>
      operate(io, (operator, operation) => operator.adjustCredits(operation), accountId, credits, options),
    );
}

function operate(io: CliIo, make: Operate, accountId: string, credits: string, options: Options): Promise<void> {
  if (!/^-?[0-9]+$/.test(credits)) throw usageFailure(`Credits must be a whole number, not ${credits}.`);
  if (!Number.isSafeInteger(Number(credits)))
    throw usageFailure(
      `Credits must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, not ${credits}.`,
    );
  return withOperator(io, options, async (operator) => {
    // One id for all tries, so that they are one operation.
    const operationId = options.operationId ?? randomUUID();
    const operation = { accountId, operationId, credits: Number(credits), reason: options.reason };
    const { account, earlierAt } = await make(operator, operation).catch((error: unknown) => {
      throw unheard(error, operationId);
    });
    // A generated id is new, so an operation that exists already is an earlier try whose answer was lost.
    const repeatedAt = options.operationId === undefined ? undefined : earlierAt;
    const balance = `${account.name} has ${amountText(account.available, account.currency)} available`;
    const text =
      repeatedAt === undefined
        ? `${balance} (operation ${operationId}).`
        : `The operation ${operationId} was made already at ${isoTime(repeatedAt)}; nothing changed. ${balance}.`;
    show(
      io,
      { json: { operation_id: operationId, repeated: repeatedAt !== undefined, account: accountJson(account) }, text },
      options,
    );
  });
}

/**
 * What says that the operation was never made, nor will be by a try that is still on its way: no account ever goes, and
 * an id names one operation for ever. What an account has may change between two tries, and who may call as well.
 */
const NEVER_MADE: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'CONFLICT']);

/** An operation without an answer may have been made, unless all its tries were refused, or none was sent. */
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
