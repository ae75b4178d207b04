import type { Document, Filter, UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { AccountChange } from '../../core/credits/account.js';
import { booksDocument, capUseDocument, holdDocument, outboxEntry, type AccountDocument } from './account-documents.js';
import { ownUuid, uuidOf } from './uuid-binary.js';

/**
 * How many entries may wait in an account's document. An entry takes some 250 bytes and an operator's reason, so that
 * even with a thousand open holds the document stays far below the 16 MB a server takes.
 */
export const MAX_OUTBOX = 2_000;

/**
 * The condition of a change: the account has exactly the version that the change was decided on, so that a command that
 * arrives twice, or late, changes nothing. The condition also includes the bound of the outbox, which no race can then
 * exceed, and two rules that only a programming error could break: entries are consecutive, and a generation has one
 * hold.
 */
export function changeFilter(account: UUID, change: AccountChange): Filter<AccountDocument> {
  const { expectedVersion, entries } = change;
  const opened = openedAnew(change);
  const [first] = entries;
  return {
    _id: account,
    version: expectedVersion,
    ...(first === undefined
      ? {}
      : { lastSequence: first.sequence - 1, [`outbox.${MAX_OUTBOX - entries.length}`]: { $exists: false } }),
    ...(opened.length === 0 ? {} : { 'holds.generation': { $nin: opened } }),
  };
}

/** Generations that may have no hold before the change: those that it opens one for and closes none. */
function openedAnew({ holdsOpened, holdsClosed }: AccountChange): UUID[] {
  const closed = new Set(holdsClosed);
  return holdsOpened
    .filter(({ generationId }) => !closed.has(generationId))
    .map(({ generationId }) => ownUuid(generationId));
}

/**
 * The change as one update of one document. Values are literal: what an operator wrote may begin with a dollar sign.
 */
export function changeUpdate(change: AccountChange): Document[] {
  const { version, lastSequence, entries, holdsOpened, holdsClosed, profile, capUses = [] } = change;
  const dropped = change.capUsesDropped ?? [];
  const changed = profile === undefined ? {} : { name: profile.name, suspendedAt: profile.suspendedAt ?? null };
  const totals = { version, lastSequence, ...booksDocument(change), ...changed };
  return [
    {
      $set: {
        ...Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, literal(value)])),
        ...(holdsOpened.length + holdsClosed.length === 0 ? {} : { holds: holdsAfter(change) }),
        ...(entries.length === 0 ? {} : { outbox: { $concatArrays: ['$outbox', literal(entries.map(outboxEntry))] } }),
        ...Object.fromEntries(capUses.map((use) => [capUsePath(use.credentialId), literal(capUseDocument(use))])),
      },
    },
    ...(dropped.length === 0 ? [] : [{ $unset: dropped.map(capUsePath) }]),
  ];
}

/**
 * The same change with the condition inside: it raises a conversion error where it may not be applied, so that no write of
 * the same ordered command follows it.
 */
export function guardedUpdate(change: AccountChange): Document[] {
  const { expectedVersion, entries } = change;
  const [first] = entries;
  const conditions = [
    { $eq: ['$version', literal(expectedVersion)] },
    { $eq: [{ $size: { $setIntersection: [HELD, literal(openedAnew(change))] } }, 0] },
    ...(first === undefined
      ? []
      : [
          { $eq: ['$lastSequence', literal(first.sequence - 1)] },
          { $lte: [{ $size: '$outbox' }, MAX_OUTBOX - entries.length] },
        ]),
  ];
  return [{ $set: { version: { $cond: [{ $and: conditions }, '$version', NO_NUMBER] } } }, ...changeUpdate(change)];
}

const HELD = { $map: { input: '$holds', as: 'hold', in: '$$hold.generation' } };

/** Raises an error where it is evaluated. It names a field, as a server may evaluate a constant before it is needed. */
const NO_NUMBER = { $toInt: { $concat: ['another version: ', { $toString: '$version' }] } };

/** Credentials are named by ids without dots and dollar signs, which would be read as paths. */
function capUsePath(credentialId: string): string {
  assert(/^[\w-]+$/u.test(credentialId), 'only credentials with an id have a cap');
  return `capUses.${credentialId}`;
}

/** The holds closed, then those opened. A hold that is closed and not there, or an id that is none, closes nothing. */
function holdsAfter({ holdsOpened, holdsClosed }: AccountChange): Document {
  const closed = holdsClosed.map(uuidOf).filter((id) => id !== null);
  const isOpen = { $not: [{ $in: ['$$hold.generation', literal(closed)] }] };
  return {
    $concatArrays: [{ $filter: { input: '$holds', as: 'hold', cond: isOpen } }, literal(holdsOpened.map(holdDocument))],
  };
}

function literal(value: unknown): Document {
  return { $literal: value };
}
