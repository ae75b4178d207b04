import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Account, Book as CoreBook, Entry, EntryKind as CoreKind } from '../../../core/credits/account.js';
import { getBalance } from '../../../core/credits/get-balance.js';
import { adjustCredits, grantCredits, type CreditOperation } from '../../../core/credits/operate.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { ServiceError } from '../../../core/errors.js';
import { Book, Credits, EntryKind, type AccountCreditsSchema, type EntrySchema } from '../generated/darkroom/v1/credits_pb.js';
import { acting, plain } from '../method.js';
import { nextPageToken, readPage } from '../pages.js';
import { readUuid } from '../read-uuid.js';
import { timestamp } from '../render/times.js';

const { method } = Credits;

export const CREDIT_METHODS = [
  acting(method.getBalance, {
    scope: 'credits:read',
    async answer({ context, caller }) {
      const { availableCredits, currency } = await getBalance(context, caller);
      return { availableCredits: BigInt(availableCredits), currency };
    },
  }),
  plain(method.grantCredits, {
    scope: 'credits:write',
    answer: async ({ context, request }) => ({ account: renderAccount(await grantCredits(context, operationOf(request))) }),
  }),
  plain(method.adjustCredits, {
    scope: 'credits:write',
    answer: async ({ context, request }) => ({ account: renderAccount(await adjustCredits(context, operationOf(request))) }),
  }),
  plain(method.listEntries, {
    scope: 'ledger:read',
    async answer({ context, request }) {
      const accountId = readUuid(request.accountId, '/account_id');
      const page = await context.accounts.entries(accountId, readPage(request, `entries of ${accountId}`), context.call);
      return { entries: page.items.map(renderEntry), nextPageToken: nextPageToken(page, `entries of ${accountId}`) };
    },
  }),
  plain(method.verifyCredits, {
    scope: 'ledger:read',
    async answer({ context }) {
      const { accounts, entries, generations, findings } = await verifyCredits(context);
      return { accounts: BigInt(accounts), entries: BigInt(entries), generations: BigInt(generations), findings: [...findings] };
    },
  }),
] as const;

const BOOK: Readonly<Record<CoreBook, Book>> = { issued: Book.ISSUED, available: Book.AVAILABLE, reserved: Book.RESERVED, spent: Book.SPENT };

const KIND: Readonly<Record<CoreKind, EntryKind>> = {
  grant: EntryKind.GRANT, adjustment: EntryKind.ADJUSTMENT, hold: EntryKind.HOLD, charge: EntryKind.CHARGE, release: EntryKind.RELEASE,
};

interface OperationRequest { readonly accountId: string; readonly operationId: string; readonly credits: bigint; readonly reason: string }

/** An amount beyond 2^53 - 1 is refused here: as a number it would be another one. */
function operationOf({ accountId, operationId, credits, reason }: OperationRequest): CreditOperation {
  const amount = Number(credits);
  if (!Number.isSafeInteger(amount)) throw new ServiceError('FIELD_INVALID', 'credits must lie within 2^53 - 1.', { pointer: '/credits' });
  return { accountId: readUuid(accountId, '/account_id'), operationId, credits: amount, reason };
}

function renderAccount({ accountId, issued, available, reserved, spent, currency }: Account): MessageInitShape<typeof AccountCreditsSchema> {
  return { accountId, issued: BigInt(issued), available: BigInt(available), reserved: BigInt(reserved), spent: BigInt(spent), currency };
}

function renderEntry({ sequence, kind, from, to, credits, at, availableAfter, generationId, operationId, reason }: Entry): MessageInitShape<typeof EntrySchema> {
  return {
    sequence: BigInt(sequence), kind: KIND[kind], fromBook: BOOK[from], toBook: BOOK[to], credits: BigInt(credits), createTime: timestamp(at), availableAfter: BigInt(availableAfter),
    ...(generationId === undefined ? {} : { generationId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(reason === undefined ? {} : { reason }),
  };
}
