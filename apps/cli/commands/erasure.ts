import type { Erasure } from '../../operator/operator.js';
import { type CliCommand, EXAMPLE_ID, operatorCommand } from '../command.js';
import { usageFailure } from '../exit.js';
import { type Operator, present } from '../operator/with-operator.js';
import { isoTime, type Shown } from '../terminal.js';

interface EraseOptions {
  readonly yes?: boolean;
}

type Answer = Promise<{ readonly erasure?: Erasure | undefined }>;

const PEOPLE_ABOUT =
  'Their e-mail address, password, passkeys, sessions and connections of programs are removed. What they made belongs to their account and stays. This cannot be undone.';

/** `darkroom people erase`. */
export function addErasePerson(people: CliCommand): void {
  eraseCommand(
    people,
    'erase <person_id>',
    'erase a person',
    [`darkroom people erase ${EXAMPLE_ID} --yes`],
    PEOPLE_ABOUT,
  ).operates(async (on, personId: string, options: EraseOptions) =>
    erase(on, options, `person ${personId}`, () => on.people.erasePerson({ personId })),
  );
}

const ACCOUNTS_ABOUT =
  'Its name, people, keys, generations with prompts and outputs, uploads, webhooks, and the texts of its ledger are removed; open generations are cancelled. Amounts and times of the ledger stay. This cannot be undone.';
const TRACE_ABOUT =
  'The generations with this client_trace_id are removed with their prompts, outputs and reference uploads, and the trace id is removed from the ledger; open generations are cancelled. This cannot be undone.';

/** `darkroom accounts erase`, `erase-trace` and `erasure`. */
export function addEraseAccount(accounts: CliCommand): void {
  eraseCommand(
    accounts,
    'erase <account_id>',
    'erase an account',
    [`darkroom accounts erase ${EXAMPLE_ID} --yes`],
    ACCOUNTS_ABOUT,
  ).operates(async (on, accountId: string, options: EraseOptions) =>
    erase(on, options, `account ${accountId}`, () => on.access.eraseAccount({ accountId })),
  );
  eraseCommand(
    accounts,
    'erase-trace <account_id> <client_trace_id>',
    'erase the generations of an account that have one client_trace_id',
    [`darkroom accounts erase-trace ${EXAMPLE_ID} order-17 --yes`],
    TRACE_ABOUT,
  ).operates(async (on, accountId: string, clientTraceId: string, options: EraseOptions) =>
    erase(on, options, 'these generations', () => on.access.eraseTrace({ accountId, clientTraceId })),
  );
  operatorCommand(accounts, 'erasure <id>')
    .description('show how far an erasure is: of an account, a person, or a trace by the id that erase-trace printed')
    .examples([`darkroom accounts erasure ${EXAMPLE_ID}`])
    .operates(async (on, erasureId: string) => shownErasure(on, await on.access.getErasure({ erasureId })));
}

function eraseCommand(
  parent: CliCommand,
  nameAndArguments: string,
  description: string,
  examples: readonly string[],
  about: string,
): CliCommand {
  return operatorCommand(parent, nameAndArguments)
    .description(description)
    .option('--yes', 'erase; without it nothing is done')
    .examples(examples, about);
}

async function erase(on: Operator, { yes }: EraseOptions, what: string, request: () => Answer): Promise<Shown> {
  if (yes !== true) throw usageFailure(`Nothing was done: to erase ${what} cannot be undone. Give --yes to erase.`);
  return shownErasure(on, await request());
}

function shownErasure({ shown }: Operator, { erasure }: Awaited<Answer>): Shown {
  return shown(erasure, erasureText);
}

function erasureText({ erasureId, requestTime, eraseTime, completeTime }: Erasure): string {
  if (completeTime !== undefined) return `${erasureId} is erased, since ${isoTime(completeTime)}.`;
  if (eraseTime !== undefined)
    return `${erasureId} is erased, since ${isoTime(eraseTime)}; workers look for late remains once more, an hour later.`;
  return `${erasureId} is being erased, since ${isoTime(present(requestTime))}; the workers of the service carry it out.`;
}
