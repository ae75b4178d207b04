import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Book as CoreBook, EntryKind as CoreKind } from '../../core/credits/account.js';
import { type CreditOperation, getBalance, listEntries, type StatementEntry } from '../../core/credits/operate.js';
import { readUsage, readUsageRequest } from '../../core/usage/read-usage.js';
import type { Operated, ShownAccount, ShownEntry } from '../operator/operator.js';
import { StoreOperator } from '../operator/store-operator.js';
import { cursorOf, tokenOf } from '../page-token.js';
import { timestamp, wordOf } from './enums.js';
import type { AccountSchema } from './generated/darkroom/v1/accounts_pb.js';
import {
  Book,
  Credits,
  EntryKind,
  type EntrySchema,
  type GrantCreditsResponseSchema,
  type OwnEntrySchema,
} from './generated/darkroom/v1/credits_pb.js';
import { acting, plain, readPage } from './method.js';
import { renderUsage, USAGE_BY } from './render-operator.js';

export const BOOK: Readonly<Record<CoreBook, Book>> = {
  issued: Book.ISSUED,
  available: Book.AVAILABLE,
  reserved: Book.RESERVED,
  spent: Book.SPENT,
};

export const KIND: Readonly<Record<CoreKind, EntryKind>> = {
  grant: EntryKind.GRANT,
  adjustment: EntryKind.ADJUSTMENT,
  hold: EntryKind.HOLD,
  charge: EntryKind.CHARGE,
  release: EntryKind.RELEASE,
};

export function renderAccount({
  accountId,
  name,
  currency,
  createdAt,
  suspendedAt,
  issued,
  available,
  reserved,
  spent,
  openHolds,
}: ShownAccount): MessageInitShape<typeof AccountSchema> {
  return {
    accountId,
    displayName: name,
    currency,
    createTime: timestamp(createdAt),
    ...(suspendedAt === undefined ? {} : { suspendTime: timestamp(suspendedAt) }),
    credits: {
      issued: BigInt(issued),
      available: BigInt(available),
      reserved: BigInt(reserved),
      spent: BigInt(spent),
      openHolds,
    },
  };
}

/** After a grant as after an adjustment. */
export function renderOperated({
  account,
  earlierAt,
}: Operated): Omit<MessageInitShape<typeof GrantCreditsResponseSchema>, '$typeName'> {
  return { account: renderAccount(account), ...(earlierAt === undefined ? {} : { earlierTime: timestamp(earlierAt) }) };
}

export function renderEntry({
  sequence,
  kind,
  from,
  to,
  credits,
  at,
  availableAfter,
  generationId,
  operationId,
  reason,
}: ShownEntry): MessageInitShape<typeof EntrySchema> {
  return {
    sequence: BigInt(sequence),
    kind: KIND[kind],
    fromBook: BOOK[from],
    toBook: BOOK[to],
    credits: BigInt(credits),
    createTime: timestamp(at),
    availableAfter: BigInt(availableAfter),
    ...(generationId === undefined ? {} : { generationId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(reason === undefined ? {} : { reason }),
  };
}

export function renderOwnEntry({
  entry,
  availableChange,
  credentialName,
}: StatementEntry): MessageInitShape<typeof OwnEntrySchema> {
  const { operationId: _, attribution, ...shown } = entry;
  return {
    entry: renderEntry(shown),
    availableChange: BigInt(availableChange),
    ...(attribution === undefined
      ? {}
      : {
          modelKey: attribution.modelKey,
          credentialId: attribution.credentialId,
          ...(attribution.clientTraceId === undefined ? {} : { clientTraceId: attribution.clientTraceId }),
        }),
    ...(credentialName === undefined ? {} : { credentialName }),
  };
}

const { method } = Credits;

export const CREDIT_METHODS = [
  acting(method.getBalance, {
    scope: 'credits:read',
    async answer({ context, caller }) {
      const { availableCredits, currency } = await getBalance(context, caller);
      return { availableCredits: BigInt(availableCredits), currency };
    },
  }),
  acting(method.listOwnEntries, {
    scope: 'credits:read',
    async answer({ context, caller, request }) {
      const list = `statement of ${caller.accountId}`;
      const statement = await listEntries(context, caller, cursorOf(readPage(request), list));
      return {
        entries: statement.entries.map(renderOwnEntry),
        openingCredits: BigInt(statement.openingCredits),
        closingCredits: BigInt(statement.closingCredits),
        nextPageToken: tokenOf(list, statement.nextCursor) ?? '',
      };
    },
  }),
  acting(method.getUsage, {
    scope: 'credits:read',
    async answer({ context, caller, request: { by, from, to, ...page } }) {
      const sent = { by: wordOf(USAGE_BY, by), from, to };
      const request = readUsageRequest(sent, context.clock.now());
      const list = `usage of ${caller.accountId} ${JSON.stringify(request)}`;
      const usage = await readUsage(context, caller, request, cursorOf(readPage(page), list));
      return { ...renderUsage(usage), nextPageToken: tokenOf(list, usage.nextCursor) ?? '' };
    },
  }),
  plain(method.getAccountUsage, {
    scope: 'ledger:read',
    async answer({ context, request: { accountId, by, from, to, ...page } }) {
      const sent = { by: wordOf(USAGE_BY, by), from, to };
      return renderUsage(await new StoreOperator(context).getUsage(accountId, sent, readPage(page)));
    },
  }),
  plain(method.grantCredits, {
    scope: 'credits:write',
    answer: async ({ context, request }) =>
      renderOperated(await new StoreOperator(context).grantCredits(operationOf(request))),
  }),
  plain(method.adjustCredits, {
    scope: 'credits:write',
    answer: async ({ context, request }) =>
      renderOperated(await new StoreOperator(context).adjustCredits(operationOf(request))),
  }),
  plain(method.listEntries, {
    scope: 'ledger:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listEntries(
        request.accountId,
        readPage(request),
      );
      return { entries: items.map(renderEntry), nextPageToken: nextCursor };
    },
  }),
  plain(method.verifyCredits, {
    scope: 'ledger:read',
    async answer({ context }) {
      const { accounts, entries, generations, findings } = await new StoreOperator(context).verifyCredits();
      return {
        accounts: BigInt(accounts),
        entries: BigInt(entries),
        generations: BigInt(generations),
        findings: [...findings],
      };
    },
  }),
] as const;

interface OperationRequest {
  readonly accountId: string;
  readonly operationId: string;
  readonly credits: bigint;
  readonly reason: string;
}

/** An amount beyond 2^53 - 1 becomes another one, which core refuses as well. */
function operationOf({ accountId, operationId, credits, reason }: OperationRequest): CreditOperation {
  return { accountId, operationId, credits: Number(credits), reason };
}
