import type {
  Account,
  AccountTotals,
  Attribution,
  Book,
  CapUse,
  Entry,
  EntryKind,
  Hold,
} from '../../core/credits/account.js';
import type { Row, SqlValue } from './driver.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the text is a UUID as we write them. SQL's `unhex` is more lenient, so lookups ask this first. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The UUID whose 32 hex digits SQL's `hex` gave. */
export function uuidOfHex(hex: string): string {
  const digits = hex.toLowerCase();
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}

export function accountOf(row: Row): Account {
  const holds = JSON.parse(row['holds'] as string) as [
    generation: string,
    credits: number,
    heldAt: number,
    credential: string | null,
    model: string | null,
    trace: string | null,
    capPeriod: string | null,
  ][];
  const capUses = JSON.parse(row['cap_uses'] as string) as [credential: string, period: string, used: number][];
  return {
    ...totalsOf(row),
    ...(capUses.length === 0 ? {} : { capUses: new Map(capUses.map((use) => [use[0], capUseOf(...use)])) }),
    holds: new Map(
      holds.map(([generation, credits, heldAt, ...by]) => {
        const generationId = uuidOfHex(generation);
        return [generationId, { generationId, credits, heldAt, ...attributionOf(...by) }];
      }),
    ),
  };
}

function capUseOf(credentialId: string, period: string, used: number): CapUse {
  return { credentialId, period, used };
}

export function capUseValues({ credentialId, period, used }: CapUse): SqlValue[] {
  return [credentialId, period, used];
}

export function totalsOf(row: Row): AccountTotals {
  return {
    accountId: uuidOfHex(row['id'] as string),
    name: row['name'] as string,
    currency: row['currency'] as string,
    createdAt: row['created_at'] as number,
    ...(row['suspended_at'] === null ? {} : { suspendedAt: row['suspended_at'] as number }),
    version: row['version'] as number,
    issued: row['issued'] as number,
    available: row['available'] as number,
    reserved: row['reserved'] as number,
    spent: row['spent'] as number,
    lastSequence: row['last_sequence'] as number,
  };
}

export function holdOf(row: Row): Hold & { readonly accountId: string } {
  return {
    accountId: uuidOfHex(row['account'] as string),
    generationId: uuidOfHex(row['generation'] as string),
    credits: row['credits'] as number,
    heldAt: row['held_at'] as number,
    ...attributionIn(row),
  };
}

/** In the order in which `changeAccount` takes them. */
export function holdValues({ generationId, credits, heldAt, attribution }: Hold): SqlValue[] {
  return [generationId, credits, heldAt, ...attributionValues(attribution)];
}

function attributionValues(attribution: Attribution | undefined): SqlValue[] {
  const { credentialId = null, modelKey = null, clientTraceId = null, capPeriod = null } = attribution ?? {};
  return [credentialId, modelKey, clientTraceId, capPeriod];
}

function attributionIn(row: Row): { readonly attribution?: Attribution } {
  return attributionOf(
    row['credential'] as string | null,
    row['model'] as string | null,
    row['trace'] as string | null,
    row['cap_period'] as string | null,
  );
}

function attributionOf(
  credentialId: string | null,
  modelKey: string | null,
  trace: string | null,
  capPeriod: string | null,
): { readonly attribution?: Attribution } {
  if (credentialId === null || modelKey === null) return {};
  return {
    attribution: {
      credentialId,
      modelKey,
      ...(trace === null ? {} : { clientTraceId: trace }),
      ...(capPeriod === null ? {} : { capPeriod }),
    },
  };
}

/** In the order in which `changeAccount` takes them. */
export function entryValues(entry: Entry): SqlValue[] {
  const {
    sequence,
    kind,
    from,
    to,
    credits,
    at,
    availableAfter,
    generationId = null,
    operationId = null,
    reason = null,
    attribution,
  } = entry;
  return [
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
    ...attributionValues(attribution),
  ];
}

export function entryOf(row: Row): Entry {
  return {
    accountId: uuidOfHex(row['account'] as string),
    sequence: row['sequence'] as number,
    kind: row['kind'] as EntryKind,
    from: row['from_book'] as Book,
    to: row['to_book'] as Book,
    credits: row['credits'] as number,
    at: row['at'] as number,
    availableAfter: row['available_after'] as number,
    ...(row['generation'] === null || row['generation'] === ''
      ? {}
      : { generationId: uuidOfHex(row['generation'] as string) }),
    ...attributionIn(row),
    ...(row['operation_id'] === null ? {} : { operationId: row['operation_id'] as string }),
    ...(row['reason'] === null ? {} : { reason: row['reason'] as string }),
  };
}
