import { accountErased } from '../access/credential.js';
import { throwIfAborted } from '../cancellation.js';
import type { Call, Erasing, Identity, Machine, Money } from '../context.js';
import { busy, ServiceError } from '../errors.js';
import { fieldInvalid, isText } from '../fields.js';
import { derivedUuid } from '../ids.js';
import { itemsOf } from '../paging.js';
import { disablePerson } from '../people/manage-people.js';
import { isOperator } from '../people/operators.js';
import type { Person } from '../people/person.js';
import { ERASED_NAME, type Erasure, newErasure } from './erasure.js';

/*
 * The operators' requests that something be erased. Each writes down the request, ends access, and leaves the rest to
 * recovery (`carry-out.ts`). A request that is made again meanwhile returns the state of the first one.
 */

/**
 * Erases an account with its people, Apps, keys, generations, uploads and webhooks, and the texts of its ledger. Once this
 * has returned no generation is accepted and the name is gone; every process refuses its credentials within 5 seconds. Throws
 * NOT_FOUND, and CONFLICT while an operator belongs to the account: operators are demoted first. A request that is made after
 * the erasure was completed begins it again.
 */
export async function eraseAccount(
  context: Money & Identity & Erasing & Machine & Call,
  accountId: string,
): Promise<Erasure> {
  const known = await context.erasures.read(accountId);
  if (known?.of !== 'account') await requireErasable(context, accountId);
  throwIfAborted(context.call);
  const erasure = await keepRequest(context, { erasureId: accountId, of: 'account', accountId });
  // Also if it was requested before: the process of the first request may have ended before it did this.
  await context.accountWriter.execute(accountId, { kind: 'erase', name: ERASED_NAME });
  return erasure;
}

async function requireErasable(
  { accounts, people, call }: Pick<Money, 'accounts'> & Identity & Call,
  accountId: string,
): Promise<void> {
  if (!(await accounts.read(accountId, call, 'totals')))
    throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  for await (const person of itemsOf((page) => people.list(accountId, page, call), PAGE)) requireNoOperator(person);
}

/**
 * Erases a person: e-mail address, everything they sign in with, their sessions, and the programs that they connected. What
 * they made in their account is the account's and stays. Once this has returned they cannot sign in, and every process refuses
 * their programs within 5 seconds. Throws NOT_FOUND, and CONFLICT for an operator, who is demoted first.
 */
export async function erasePerson(context: Identity & Erasing & Machine & Call, personId: string): Promise<Erasure> {
  const person = await context.people.read(personId, context.call);
  const known = person ? null : await context.erasures.read(personId);
  if (known?.of === 'person') return known;
  if (!person) throw new ServiceError('NOT_FOUND', `There is no person ${personId}.`);
  requireNoOperator(person);
  throwIfAborted(context.call);
  return requestOf(context, person);
}

/** The same for a person who is known to be no operator. */
export async function requestOf(
  context: Identity & Erasing & Machine & Call,
  { personId, accountId }: Person,
): Promise<Erasure> {
  const erasure = await keepRequest(context, { erasureId: personId, of: 'person', accountId });
  await disablePerson(context, personId).catch((error: unknown) => {
    // Recovery has removed them meanwhile.
    if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error;
  });
  return erasure;
}

function requireNoOperator(person: Person): void {
  if (isOperator(person))
    throw new ServiceError('CONFLICT', `Person ${person.personId} is an operator; demote them first, then erase.`);
}

const PAGE = 1_000;
const MAX_TRACE_ID = 128;

/**
 * Erases the generations of one account that have this `client_trace_id`: prompts, outputs, reference uploads, and the trace
 * id itself, also in the ledger. Open ones are stopped first. What is created with the trace id later is not erased by an
 * erasure that was completed; a new request then begins a new one. Throws FIELD_INVALID, NOT_FOUND, and CONFLICT for an account
 * that was erased.
 */
export async function eraseTrace(
  context: Money & Erasing & Machine & Call,
  accountId: string,
  clientTraceId: string,
): Promise<Erasure> {
  if (clientTraceId === '' || [...clientTraceId].length > MAX_TRACE_ID || !isText(clientTraceId))
    throw fieldInvalid('/client_trace_id', `client_trace_id must have 1 to ${MAX_TRACE_ID} characters.`);
  const account = await context.accounts.read(accountId, context.call, 'totals');
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  if (account.erasedAt !== undefined) throw accountErased(accountId);
  const erasureId = derivedUuid(context.digests.keyed(`erasure of a trace of ${accountId} ${clientTraceId}`));
  throwIfAborted(context.call);
  return keepRequest(context, { erasureId, of: 'trace', accountId, clientTraceId });
}

/** The state of an erasure, by the id of its account or person, or the one that `eraseTrace` returned. Throws NOT_FOUND. */
export async function findErasure({ erasures }: Erasing, erasureId: string): Promise<Erasure> {
  const erasure = await erasures.read(erasureId);
  if (erasure === null) throw new ServiceError('NOT_FOUND', `Nothing with the id ${erasureId} is being erased.`);
  return erasure;
}

const MAX_TRIES = 5;

/**
 * Writes down the request. One for an account begins again once an earlier one is done, and one for a trace in its second round
 * too: something may have been written since.
 */
async function keepRequest(
  { erasures, clock, log }: Erasing & Machine,
  about: Pick<Erasure, 'erasureId' | 'of' | 'accountId' | 'clientTraceId'>,
): Promise<Erasure> {
  const fresh = newErasure(about, clock.now());
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const outcome = await erasures.insert(fresh);
    if (outcome.inserted) {
      const { erasureId, of, accountId } = fresh;
      log.info('erasure requested', { erasureId, of, accountId });
      return fresh;
    }
    const { existing } = outcome;
    const isOver =
      existing.of === 'trace' ? existing.round === 2 : existing.of === 'account' && existing.step === 'done';
    if (!isOver) return existing;
    const again = { ...fresh, version: existing.version + 1 };
    if ((await erasures.replace(again, existing.version)) === 'applied') return again;
  }
  throw busy('The erasure is being changed by too many processes; try again.');
}
