import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Call, Identity, Machine, Models, Money, Work } from '../../core/context.js';
import { BOOKS, type Entry, ENTRY_KINDS } from '../../core/credits/account.js';
import { adjustCredits, getBalance, grantCredits } from '../../core/credits/operate.js';
import { type BooksReader, readStatement, type ShownEntry } from '../../core/credits/own-app.js';
import { verifyCredits } from '../../core/credits/verify.js';
import type { PageRequest } from '../../core/paging.js';
import { dayAndModality, readUsage, readUsageRequest, USAGE_BY as USAGE_WORDS } from '../../core/usage/read-usage.js';
import { cursorOf, tokenOf } from '../page-token.js';
import { pageOfAccount, renderAccount, requireAccount } from './access.js';
import { int64s, timestamp, valuesByWord, wordOf } from './enums.js';
import {
  Book,
  Credits,
  EntryKind,
  type EntrySchema,
  type GetAccountUsageRequest,
  type GetAccountUsageResponseSchema,
  type GetUsageRequest,
  type GrantCreditsRequest,
  type GrantCreditsResponseSchema,
  type OwnEntrySchema,
  UsageBy,
} from './generated/darkroom/v1/credits_pb.js';
import { acting, plain, readPage, readUuid, type ServedMethod } from './method.js';

const BOOK = valuesByWord(BOOKS, Book);
const KIND = valuesByWord(ENTRY_KINDS, EntryKind);
export const USAGE_BY = valuesByWord(USAGE_WORDS, UsageBy);

const { method } = Credits;

/** Credits: those of a client, and all of them for operators. */
export const CREDIT_METHODS: readonly ServedMethod<Money & Work & Identity & Models & Machine & Call>[] = [
  acting(method.getBalance, 'credits:read', async ({ context, caller }) => {
    const { availableCredits, currency } = await getBalance(context, caller);
    return { availableCredits: BigInt(availableCredits), currency };
  }),
  acting(method.listOwnEntries, 'credits:read', async ({ context, caller, request }) => {
    const list = `statement of ${caller.accountId}`;
    const statement = await readStatement(context, caller, cursorOf(readPage(request), list));
    const { openingCredits = 0, closingCredits } = statement;
    return {
      entries: statement.entries.map((entry) => renderOwnEntry(entry, closingCredits !== undefined)),
      openingCredits: BigInt(openingCredits),
      closingCredits: BigInt(closingCredits ?? 0),
      nextPageToken: tokenOf(list, statement.nextCursor) ?? '',
    };
  }),
  acting(method.getUsage, 'credits:read', ({ context, caller, request }) =>
    usageOf(context, caller, request, readPage(request)),
  ),
  plain(method.getAccountUsage, 'ledger:read', async ({ context, request }) => {
    const page = readPage(request);
    const { accountId } = await requireAccount(context, request);
    return usageOf(context, { accountId }, request, page);
  }),
  plain(method.grantCredits, 'credits:write', ({ context, request }) => operate(context, grantCredits, request)),
  plain(method.adjustCredits, 'credits:write', ({ context, request }) => operate(context, adjustCredits, request)),
  plain(method.listEntries, 'ledger:read', async ({ context, request }) => {
    const { items, nextCursor = '' } = await pageOfAccount(context, request, 'entries', (accountId, page) =>
      context.accounts.entries(accountId, page, context.call),
    );
    return { entries: items.map(renderEntry), nextPageToken: nextCursor };
  }),
  plain(method.verifyCredits, 'ledger:read', async ({ context }) => {
    const { findings, ...counts } = await verifyCredits(context);
    return { ...int64s(counts), findings: [...findings] };
  }),
];

/** Core accepts a repeated operation, so that it can be sent again; that it changed nothing is determined here. */
async function operate(
  context: Money & Call,
  make: typeof grantCredits,
  { accountId: id, operationId, credits, reason }: Omit<GrantCreditsRequest, '$typeName'>,
): Promise<Omit<MessageInitShape<typeof GrantCreditsResponseSchema>, '$typeName'>> {
  const accountId = readUuid(id, '/account_id');
  const earlier = await context.accounts.findOperation(accountId, operationId);
  // An amount beyond 2^53 - 1 becomes another one, which core refuses as well.
  const account = await make(context, { accountId, operationId, credits: Number(credits), reason });
  return { account: renderAccount(account), earlierTime: timestamp(earlier?.at) };
}

/** SERVICE_UNAVAILABLE while the sums are being computed; each call continues where the last one stopped. */
async function usageOf(
  context: Money & Work & Identity & Models & Machine & Call,
  reader: BooksReader,
  { by, from, to }: Pick<GetUsageRequest | GetAccountUsageRequest, 'by' | 'from' | 'to'>,
  page: PageRequest,
): Promise<Omit<MessageInitShape<typeof GetAccountUsageResponseSchema>, '$typeName'>> {
  const request = readUsageRequest({ by: wordOf(USAGE_BY, by), from, to }, context.clock.now());
  const list = `usage of ${reader.accountId} ${JSON.stringify(request)}`;
  const { groups, total, nextCursor } = await readUsage(context, reader, request, cursorOf(page, list));
  return {
    rows: groups.map(({ group, credentialName, ...sums }) => {
      const named = request.by === 'day_modality' ? dayAndModality(group) : { day: group };
      const { day, ...modality } = named;
      return { group: day, credentialName, ...modality, sums: int64s(sums) };
    }),
    total: int64s(total),
    from: request.from,
    to: request.to,
    nextPageToken: tokenOf(list, nextCursor) ?? '',
  };
}

export function renderEntry(entry: Omit<Entry, 'accountId'>): MessageInitShape<typeof EntrySchema> {
  const { sequence, kind, from, to, credits, at, availableAfter, generationId, operationId, reason } = entry;
  return {
    sequence: BigInt(sequence),
    kind: KIND[kind],
    fromBook: BOOK[from],
    toBook: BOOK[to],
    credits: BigInt(credits),
    createTime: timestamp(at),
    availableAfter: BigInt(availableAfter),
    generationId,
    operationId,
    reason,
  };
}

function renderOwnEntry(
  { entry, availableChange, credentialName }: ShownEntry,
  isWhole: boolean,
): MessageInitShape<typeof OwnEntrySchema> {
  const { operationId: _, attribution, ...shown } = entry;
  return {
    entry: renderEntry(isWhole ? shown : { ...shown, availableAfter: 0 }),
    availableChange: BigInt(availableChange),
    modelKey: attribution?.modelKey,
    credentialId: attribution?.credentialId,
    clientTraceId: attribution?.clientTraceId,
    credentialName,
  };
}
