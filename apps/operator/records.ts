import type { App } from '../../core/access/credential.js';
import type { AttemptCost } from '../../core/generation/generation.js';
import type { Page } from '../../core/paging.js';
import type { ProviderCapabilities } from '../../core/ports/provider.js';
import type { ConnectedProvider, ProviderWorker } from '../../core/providers/list-providers.js';
import type {
  AccountStorage,
  InspectedGeneration,
  ShownAccount,
  ShownEntry,
  ShownGeneration,
  ShownKey,
  ShownPerson,
} from './operator.js';

/** A time as machines and operators read it (RFC 3339, UTC). */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Its UTC day. */
export function isoDate(atMs: number): string {
  return isoTime(atMs).slice(0, 10);
}

/** How operators are told of what there is, as JSON: by the commands, and in the operator's area. */
export function accountJson(account: ShownAccount) {
  return {
    account_id: account.accountId,
    name: account.name,
    currency: account.currency,
    created_at: isoTime(account.createdAt),
    ...(account.suspendedAt === undefined ? {} : { suspended_at: isoTime(account.suspendedAt) }),
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
    ...(key.monthlyCap === undefined ? {} : { monthly_cap: key.monthlyCap }),
    created_at: isoTime(key.createdAt),
    ...(key.expiresAt === undefined ? {} : { expires_at: isoTime(key.expiresAt) }),
    ...(key.revokedAt === undefined ? {} : { revoked_at: isoTime(key.revokedAt) }),
    ...(key.lastUsedAt === undefined ? {} : { last_used_on: isoDate(key.lastUsedAt) }),
  };
}

export function personJson(person: ShownPerson) {
  return {
    person_id: person.personId,
    account_id: person.accountId,
    email: person.email,
    created_at: isoTime(person.createdAt),
    ...(person.disabledAt === undefined ? {} : { disabled_at: isoTime(person.disabledAt) }),
    ...(person.lastSignInAt === undefined ? {} : { last_sign_in_on: isoDate(person.lastSignInAt) }),
    ...(person.operatorSince === undefined ? {} : { operator_since: isoTime(person.operatorSince) }),
    has_password: person.hasPassword,
    passkeys: person.passkeyCount,
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

export function generationJson(g: ShownGeneration) {
  return {
    generation_id: g.generationId,
    account_id: g.accountId,
    app_id: g.appId,
    status: g.status,
    model_key: g.modelKey,
    operation: g.operation,
    created_at: isoTime(g.createdAt),
    updated_at: isoTime(g.updatedAt),
    ...(g.completedAt === undefined ? {} : { completed_at: isoTime(g.completedAt) }),
    ...(g.cancelRequestedAt === undefined ? {} : { cancel_requested_at: isoTime(g.cancelRequestedAt) }),
    reserved_credits: g.reservedCredits,
    charged_credits: g.chargedCredits,
    attempts: g.attemptsMade,
    ...(g.worker === undefined ? {} : { worker: g.worker }),
    ...(g.error === undefined
      ? {}
      : { error: { code: g.error.code, message: g.error.message, retryable: g.error.retryable } }),
    ...(g.clientTraceId === undefined ? {} : { client_trace_id: g.clientTraceId }),
    output_count: g.outputCount,
    ...(g.provider === undefined ? {} : { provider: g.provider }),
    ...(g.costs === undefined ? {} : { costs: g.costs.map(costJson) }),
  };
}

function costJson({ attempt, provider, inputTokens, outputTokens, computeMs, money }: AttemptCost) {
  return {
    attempt,
    provider,
    ...(inputTokens === undefined ? {} : { input_tokens: inputTokens }),
    ...(outputTokens === undefined ? {} : { output_tokens: outputTokens }),
    ...(computeMs === undefined ? {} : { compute_ms: computeMs }),
    ...(money === undefined ? {} : { money: { micros: money.micros, currency: money.currency } }),
  };
}

export function inspectedJson(g: InspectedGeneration) {
  return {
    ...generationJson(g),
    prompt: g.prompt,
    ...(g.negativePrompt === undefined ? {} : { negative_prompt: g.negativePrompt }),
    parameters: g.parameters,
    reference_upload_ids: g.referenceUploadIds,
  };
}

/** What an account stores. */
export function storageJson({ uncharged, apps, limits }: AccountStorage) {
  return {
    uncharged_content: uncharged,
    apps: apps.items.map(({ appId, name, uploads, unfinished, bytes }) => ({
      app_id: appId,
      name,
      uploads,
      unfinished_uploads: unfinished,
      upload_bytes: bytes,
    })),
    limits: {
      uncharged_content_bytes: limits.unchargedBytes,
      uploads: limits.uploads,
      unfinished_uploads: limits.unfinished,
      upload_bytes: limits.bytes,
    },
    ...moreJson(apps),
  };
}

/** Where a list goes on. */
export function moreJson({ nextCursor }: Page<unknown>): { readonly next_cursor?: string } {
  return nextCursor === undefined ? {} : { next_cursor: nextCursor };
}

/** How the commands write what there is of providers as JSON. */
export function providerJson(p: ConnectedProvider) {
  const { maxConcurrent, maxSubmissionsPerMinute } = p.limits;
  return {
    name: p.name,
    kind: p.kind,
    circuit: p.circuit,
    tasks: p.tasks,
    waiting: p.waiting,
    ...(maxConcurrent === undefined ? {} : { max_concurrent: maxConcurrent }),
    ...(maxSubmissionsPerMinute === undefined ? {} : { max_submissions_per_minute: maxSubmissionsPerMinute }),
    models: p.models.map(({ modelKey, weight, capabilities }) => ({
      model_key: modelKey,
      weight,
      promises: capabilitiesJson(capabilities),
    })),
    workers: p.workers.map(workerJson),
  };
}

export function capabilitiesJson(p: ProviderCapabilities) {
  return {
    answers_with_outputs: p.answersWithOutputs,
    is_asked_by: p.isAskedBy,
    takes_token_once: p.takesTokenOnce,
    settle_ms: p.settleMs,
    cancels: p.cancels,
    ...(p.keepsResultsMs === undefined ? {} : { keeps_results_ms: p.keepsResultsMs }),
    is_paid: p.isPaid,
    ...(p.maxMaskedReferences === undefined ? {} : { max_masked_references: p.maxMaskedReferences }),
  };
}

function workerJson({ worker, health, tasks, waiting, slots, seenAt, isCurrent }: ProviderWorker) {
  const { circuit, pausedUntil, lastError, medianSubmitMs } = health;
  return {
    worker,
    circuit,
    ...(pausedUntil === undefined ? {} : { paused_until: isoTime(pausedUntil) }),
    ...(lastError === undefined ? {} : { last_error: { at: isoTime(lastError.at), message: lastError.message } }),
    ...(medianSubmitMs === undefined ? {} : { median_submit_ms: medianSubmitMs }),
    tasks,
    waiting,
    slots,
    seen_at: isoTime(seenAt),
    is_current: isCurrent,
  };
}
