import type { App } from '../../../core/access/credential.js';
import type { ShownAccount, ShownEntry, ShownKey } from '../../operator/operator.js';
import { isoTime } from '../terminal.js';

/** How the operator's commands write what there is as JSON. */
export function accountJson(account: ShownAccount) {
  return {
    account_id: account.accountId,
    name: account.name,
    currency: account.currency,
    created_at: isoTime(account.createdAt),
    issued_credits: account.issued,
    available_credits: account.available,
    reserved_credits: account.reserved,
    spent_credits: account.spent,
    open_holds: account.openHolds,
  };
}

export function appJson(app: App) {
  return { app_id: app.appId, account_id: app.accountId, name: app.name, created_at: isoTime(app.createdAt) };
}

export function keyJson(key: ShownKey) {
  return {
    key_id: key.keyId,
    account_id: key.accountId,
    app_id: key.appId,
    name: key.name,
    scopes: key.scopes,
    created_at: isoTime(key.createdAt),
    ...(key.expiresAt === undefined ? {} : { expires_at: isoTime(key.expiresAt) }),
    ...(key.revokedAt === undefined ? {} : { revoked_at: isoTime(key.revokedAt) }),
  };
}

export function entryJson(entry: ShownEntry) {
  return {
    sequence: entry.sequence,
    at: isoTime(entry.at),
    kind: entry.kind,
    from: entry.from,
    to: entry.to,
    credits: entry.credits,
    available_after: entry.availableAfter,
    ...(entry.generationId === undefined ? {} : { generation_id: entry.generationId }),
    ...(entry.operationId === undefined ? {} : { operation_id: entry.operationId }),
    ...(entry.reason === undefined ? {} : { reason: entry.reason }),
  };
}
