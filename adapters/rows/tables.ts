import { hash } from 'node:crypto';
import type { ApiKey, App } from '../../core/access/credential.js';
import type { AccountTotals, Actor, Attribution, CapUse, Entry, Hold } from '../../core/credits/account.js';
import type { Claim, ClaimKey } from '../../core/idempotency/claim.js';
import type { Fingerprint, ProcessLease } from '../../core/idempotency/fingerprint.js';
import type { Artefact, OutsideIdentity } from '../../core/people/person.js';
import type { TraceRow, UseRow } from '../../core/usage/usage.js';
import type { RowTable, RowValue } from './row-mapping.js';

/** The tables that SQLite and PostgreSQL have alike, by the records in their rows. */

export const ACCOUNT_ROWS: RowTable<AccountTotals> = {
  table: 'accounts',
  columns: {
    id: 'accountId:uuid',
    version: 'version:int',
    issued: 'issued:int',
    available: 'available:int',
    reserved: 'reserved:int',
    spent: 'spent:int',
    last_sequence: 'lastSequence:int',
    name: 'name',
    currency: 'currency',
    created_at: 'createdAt:int',
    suspended_at: 'suspendedAt:int',
    erased_at: 'erasedAt:int',
  },
};

/** The use of credits, and the user; all NULL in rows of releases that did not have them. */
const ATTRIBUTION = {
  credential: 'credentialId',
  model: 'modelKey',
  trace: 'clientTraceId',
  cap_period: 'capPeriod',
  app: 'appId',
  actor: 'actor',
} as const;

/** A record of a ledger with the fields of its attribution among its own. */
export type Flat<R extends { readonly attribution?: Attribution }> = Omit<R, 'attribution'> & Partial<Attribution>;

/** The columns of a hold beside its account. */
export const HOLD_ROWS: RowTable<Flat<Hold>> = {
  table: 'holds',
  columns: { generation: 'generationId:uuid', credits: 'credits:int', held_at: 'heldAt:int', ...ATTRIBUTION },
};

/** The columns of an entry beside its account. */
export const ENTRY_ROWS: RowTable<Flat<Omit<Entry, 'accountId'>>> = {
  table: 'entries',
  columns: {
    sequence: 'sequence:int',
    kind: 'kind',
    from_book: 'from',
    to_book: 'to',
    credits: 'credits:int',
    at: 'at:int',
    available_after: 'availableAfter:int',
    generation: 'generationId:uuid',
    operation_id: 'operationId',
    reason: 'reason',
    ...ATTRIBUTION,
  },
};

/** The fields of an attribution among those of the record itself. */
export function flat<R extends { readonly attribution?: Attribution }>(record: R): Flat<R> {
  return { ...record, ...record.attribution };
}

/** The opposite of `flat`. Records of releases before attribution have none. */
export function attributed<R extends { readonly attribution?: Attribution }>(record: Flat<R>): R {
  const { credentialId, modelKey, clientTraceId, capPeriod, appId, actor, ...rest } = record;
  const attribution = attributionOf(credentialId, modelKey, clientTraceId, capPeriod, appId, actor);
  return { ...rest, ...attribution } as unknown as R;
}

type Text = string | null | undefined;

export function attributionOf(
  credentialId: Text,
  modelKey: Text,
  clientTraceId: Text,
  capPeriod: Text,
  appId: Text,
  actor: Text,
): { readonly attribution?: Attribution } {
  if (typeof credentialId !== 'string' || typeof modelKey !== 'string') return {};
  return {
    attribution: {
      credentialId,
      ...(typeof appId === 'string' ? { appId } : {}),
      ...(typeof actor === 'string' ? { actor: actor as Actor } : {}),
      modelKey,
      ...(typeof clientTraceId === 'string' ? { clientTraceId } : {}),
      ...(typeof capPeriod === 'string' ? { capPeriod } : {}),
    },
  };
}

/** The columns of the use of a cap beside its account. */
export const CAP_USE_ROWS: RowTable<CapUse> = {
  table: 'cap_uses',
  columns: { credential: 'credentialId', period: 'period', used: 'used:int' },
};

/** The columns of a claim beside its key. */
export const CLAIM_ROWS: RowTable<Omit<Claim, keyof ClaimKey>> = {
  table: 'claims',
  columns: {
    version: 'version:int',
    digest: 'digest',
    subject: 'subjectId:uuid',
    created_at: 'createdAt:int',
    lease_expires_at: 'leaseExpiresAt:int',
    remove_at: 'removeAt:int',
    boot: 'bootId:uuid',
  },
};

/** Hexadecimal digits of 16 bytes. */
const KEY_DIGEST_DIGITS = 32;

/**
 * The digest that finds a claim's row, in hexadecimal: 16 bytes of the SHA-256 of its key. It is the same for a UUID as text
 * and for one as SQLite's `hex` writes it. Keys have no order, so each new one changes a page of their index; that page
 * holds these bytes alone, and the rows are appended elsewhere.
 */
export function claimKeyDigest({
  accountId,
  appId,
  operation,
  key,
}: Readonly<Record<keyof ClaimKey, RowValue | bigint | Uint8Array>>): string {
  const [account, app] = [accountId, appId].map((id) => String(id).replaceAll('-', '').toLowerCase());
  return hash('sha256', JSON.stringify([account, app, operation, key]), 'hex').slice(0, KEY_DIGEST_DIGITS);
}

/** The columns of a record of equal requests beside its fingerprint. */
export const FINGERPRINT_ROWS: RowTable<Omit<Fingerprint, 'fingerprint'>> = {
  table: 'fingerprints',
  columns: { account: 'accountId:uuid', version: 'version:int', creates: 'creates:json', remove_at: 'removeAt:int' },
};

export const BOOT_LEASE_ROWS: RowTable<ProcessLease> = {
  table: 'boot_leases',
  columns: { boot: 'bootId:uuid', renewals: 'renewals:int', renewed_at: 'renewedAt:int', remove_at: 'removeAt:int' },
};

export const APP_ROWS: RowTable<App> = {
  table: 'apps',
  columns: { id: 'appId:uuid', account: 'accountId:uuid', name: 'name', created_at: 'createdAt:int' },
};

/** A key is known by its id, its account, its digest and its hint, which stay as they are. */
export const KEY_CHANGE_ROWS: RowTable<ApiKey> = {
  table: 'keys',
  columns: {
    app: 'appId:uuid',
    version: 'version:int',
    name: 'name',
    scopes: 'scopes:json',
    created_at: 'createdAt:int',
    expires_at: 'expiresAt:int',
    revoked_at: 'revokedAt:int',
    last_used_at: 'lastUsedAt:int',
    monthly_cap: 'monthlyCap:int',
  },
};
export const KEY_ROWS: RowTable<ApiKey> = {
  table: 'keys',
  columns: {
    id: 'keyId:uuid',
    account: 'accountId:uuid',
    digest: 'digest',
    hint: 'hint',
    ...KEY_CHANGE_ROWS.columns,
  },
};

export const IDENTITY_ROWS: RowTable<OutsideIdentity> = {
  table: 'identities',
  columns: { issuer: 'issuer', subject: 'subject', person: 'personId:uuid', linked_at: 'linkedAt:int' },
};

export const ARTEFACT_ROWS: RowTable<Artefact> = {
  table: 'artefacts',
  columns: {
    kind: 'kind',
    id: 'id',
    grp: 'group',
    owner: 'owner',
    alias: 'alias',
    data: 'data:json',
    created_at: 'createdAt:int',
    expires_at: 'expiresAt:int',
    remove_at: 'removeAt:int',
    consumed_at: 'consumedAt:int',
    ended_at: 'endedAt:int',
  },
};

const SUMS = {
  last_sequence: 'lastSequence:int',
  generations: 'generations:int',
  failed: 'failed:int',
  reserved: 'reservedCredits:int',
  charged: 'chargedCredits:int',
  released: 'releasedCredits:int',
} as const;
export const USAGE_SUM_ROWS: RowTable<UseRow | TraceRow> = { table: 'usage', columns: SUMS };
/** The sums first, then the key. */
export const USE_ROWS: RowTable<UseRow> = {
  table: 'usage',
  columns: {
    ...SUMS,
    account: 'accountId:uuid',
    day: 'day',
    credential: 'credentialId',
    model: 'modelKey',
    app_use: 'appUse',
  },
};
export const TRACE_ROWS: RowTable<TraceRow> = {
  table: 'usage_by_trace',
  columns: { ...SUMS, account: 'accountId:uuid', day: 'day', trace: 'clientTraceId', app_use: 'appUse' },
};
