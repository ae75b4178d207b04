import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Book as CoreBook, EntryKind as CoreKind } from '../../../core/credits/account.js';
import type { StatementEntry } from '../../../core/credits/list-entries.js';
import type { Operated, ShownAccount, ShownEntry } from '../../operator/operator.js';
import type { AccountSchema } from '../generated/darkroom/v1/accounts_pb.js';
import {
  Book,
  EntryKind,
  type EntrySchema,
  type GrantCreditsResponseSchema,
  type OwnEntrySchema,
} from '../generated/darkroom/v1/credits_pb.js';
import { timestamp } from './times.js';

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
