import { randomUUID } from 'node:crypto';
import { type ErrorCode, ServiceError } from '../../../core/errors.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { failureOf, OutcomeUnknown } from '../client/failures.js';
import { clientCommand, type CliCommand, EXAMPLE_ID, listCommand, operatorCommand } from '../command.js';
import { EXIT, Failure, usageFailure, withMore } from '../exit.js';
import { type Operator, type OperatorOptions, present, withOperator } from '../operator/with-operator.js';
import { amountText, isoTime, show, type Shown } from '../terminal.js';

/** `darkroom credits`: the balance of the key's account. */
export function addCredits(program: CliCommand): void {
  clientCommand(program, 'credits')
    .description("show the account's balance")
    .examples(['darkroom credits', 'darkroom credits --json'])
    .shows(async (options: ConnectionOptions) => {
      const data = await connect(program.io, options).credits();
      return { json: data, text: amountText(data.balance_credits, data.currency) };
    });
}

interface CreditOperationOptions extends OperatorOptions {
  readonly operationId?: string;
  readonly reason: string;
}

/** `darkroom grants` and `darkroom adjustments`: grant credits to an account, and correct mistakes. */
export function addCreditOperations(program: CliCommand): void {
  const grants = program.command('grants').description('credits given to accounts');
  operatorCommand(grants, 'create <account_id> <credits>')
    .description('give credits to an account')
    .option('--reason <text>', 'why', 'Grant')
    .option('--operation-id <id>', 'names the grant, so that repeating it changes nothing')
    .examples([`darkroom grants create ${EXAMPLE_ID} 5000 --operation-id invoice-1042`])
    .action(operation(program, 'grantCredits'));

  const adjustments = program.command('adjustments').description('corrections of granted credits');
  operatorCommand(adjustments, 'create <account_id> <credits>')
    .description('add credits, or take them back with a number below 0')
    .requiredOption('--reason <text>', 'why')
    .option('--operation-id <id>', 'names the adjustment, so that repeating it changes nothing')
    .examples([`darkroom adjustments create ${EXAMPLE_ID} -200 --reason "granted twice"`])
    .action(operation(program, 'adjustCredits'));
}

function operation({ io }: CliCommand, make: 'grantCredits' | 'adjustCredits') {
  return (accountId: string, credits: string, options: CreditOperationOptions): Promise<void> => {
    if (!/^-?[0-9]+$/.test(credits)) throw usageFailure(`Credits must be a whole number, not ${credits}.`);
    if (!Number.isSafeInteger(Number(credits)))
      throw usageFailure(
        `Credits must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, not ${credits}.`,
      );
    return withOperator(io, options, async (operator) =>
      show(io, await operate(operator, make, { accountId, credits: BigInt(credits) }, options), options),
    );
  };
}

async function operate(
  { credits: service, json }: Operator,
  make: 'grantCredits' | 'adjustCredits',
  of: { readonly accountId: string; readonly credits: bigint },
  { operationId: givenId, reason }: CreditOperationOptions,
): Promise<Shown> {
  // One id for all tries, so that they are one operation.
  const operationId = givenId ?? randomUUID();
  const operated = await service[make]({ ...of, operationId, reason }).catch((error: unknown) => {
    throw unheard(error, operationId);
  });
  const account = present(operated.account);
  // A generated id is new, so an operation that exists already is an earlier try whose answer was lost.
  const repeatedAt = givenId === undefined ? undefined : isoTime(operated.earlierTime);
  const available = amountText(present(account.credits).available, account.currency);
  const balance = `${account.displayName} has ${available} available`;
  const text =
    repeatedAt === undefined
      ? `${balance} (operation ${operationId}).`
      : `The operation ${operationId} was made already at ${repeatedAt}; nothing changed. ${balance}.`;
  return { json: { operation_id: operationId, repeated: repeatedAt !== undefined, account: json(account) }, text };
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

/** The words that are printed for the kinds of ledger entries. */
const ENTRY_WORDS: Readonly<Record<string, string>> = {
  grant: 'granted',
  adjustment: 'adjusted',
  hold: 'reserved',
  charge: 'charged',
  release: 'released',
};

function bookText(book: string): string {
  return book === 'spent' ? 'charged' : book;
}

/** `darkroom ledger`: every movement of an account's credits, oldest first. */
export function addLedger(program: CliCommand): void {
  listCommand(program, 'ledger <account_id>')
    .description("show an account's ledger, oldest entry first")
    .examples([`darkroom ledger ${EXAMPLE_ID}`, `darkroom ledger ${EXAMPLE_ID} --limit 1000 --json`])
    .operates(async ({ credits, json, paging, listed }, accountId: string) => {
      const page = await credits.listEntries({ accountId, ...paging });
      const rows = page.entries.map((entry) => {
        const words = json(entry) as { readonly kind: string; readonly from: string; readonly to: string };
        return [
          entry.sequence,
          entry.createTime,
          ENTRY_WORDS[words.kind] ?? words.kind,
          `${bookText(words.from)} to ${bookText(words.to)}`,
          entry.credits,
          entry.availableAfter,
          entry.generationId ?? entry.operationId,
          entry.reason,
        ];
      });
      return listed(page, ['entry', 'at', 'kind', 'moved', 'credits', 'available', 'for', 'reason'], rows);
    });
}
