import type { Caller } from '../access/credential.js';
import type { Call, Files, Machine, Models, Money, Webhooks, Work } from '../context.js';
import { type ErrorCode, ServiceError } from '../errors.js';
import type { ClaimKey } from '../idempotency/claim.js';
import type { ClaimRequest } from '../idempotency/claims.js';
import type { Place } from '../idempotency/silent-retries.js';
import type { Json } from '../json.js';
import { pause } from '../waiting.js';
import { type Created, createGeneration, type CreateOptions } from './create-generation.js';

/** A create of the OpenAI-compatible API. */
export interface MatchedRequest extends Pick<CreateOptions, 'requireAllowed'> {
  /** What the request consists of: the path, the fields and the digests of the files. */
  readonly content: Json;
  /** The idempotency key, where the client sent one. */
  readonly idempotencyKey?: string | undefined;
  /** Whether the client says that it repeats a request. */
  readonly isRetry: boolean;
  /** Makes the body of the create, and the uploads it names. May throw a refusal. Called once, for a new generation alone. */
  readonly prepare: () => Promise<Json>;
  /**
   * Throws a refusal where the client has disconnected. If its create continued, an equal request that has arrived in
   * the meantime would buy as well.
   */
  readonly requireConnected?: () => void;
}

export interface Matched extends Created {
  /** Where the request waits for the answer; absent with an idempotency key, whose answer is given any number of times. */
  readonly place?: Place;
}

/**
 * Creates a generation, or finds the one that the request was for when it was sent before. With an idempotency key it is
 * the one that was created under that key in this API; a request in progress is waited for. Without one it is decided by
 * `SilentRetries`. What was created before is found without a look at catalog, balance, caps and queues.
 *
 * Throws what `createGeneration` throws, but for IDEMPOTENCY_KEY_REQUIRED, and IDEMPOTENCY_IN_PROGRESS after 10 minutes.
 */
export async function createMatched(
  context: Money & Work & Files & Models & Webhooks & Machine & Call,
  caller: Caller,
  request: MatchedRequest,
): Promise<Matched> {
  const { accountId, appId, credentialId } = caller;
  const { content, idempotencyKey, isRetry } = request;
  const digest = context.digests.ofJson(content);
  let prepared: Promise<Json> | undefined;
  const once = { ...request, prepare: () => (prepared ??= request.prepare()) };
  if (idempotencyKey !== undefined) {
    const key: ClaimKey = { accountId, appId, operation: 'create-compatible', key: idempotencyKey };
    return findOrCreate(context, caller, once, { key, digest });
  }
  const fingerprint = context.digests.ofJson({ credentialId, digest });
  for (let tries = 1; ; tries += 1) {
    const place = await context.silentRetries.begin({ accountId, appId, fingerprint, isRetry });
    try {
      return { ...(await findOrCreate(context, caller, once, { key: place.key, digest }, place.isNew)), place };
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : 'INTERNAL_ERROR';
      // A refusal leaves nothing behind. After any other failure the next equal request finds out what was created.
      if (UNDECIDED.has(code)) place.leave();
      else place.withdraw();
      // The generation was deleted since it was matched; a deleted one is matched no more.
      if (code !== 'IDEMPOTENCY_REPLAY_EXPIRED' || tries >= MAX_DELETED) throw error;
    }
  }
}

/** How many generations may be deleted while one request finds them. */
const MAX_DELETED = 3;

/** Codes after which a generation may still be created under the key. */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'SERVICE_UNAVAILABLE',
  'INTERNAL_ERROR',
  'IDEMPOTENCY_IN_PROGRESS',
]);

/** How long a request waits for one in progress under the same key, in milliseconds: much longer than the lease of that one. */
const MAX_WAIT_MS = 600_000;

async function findOrCreate(
  context: Money & Work & Files & Models & Webhooks & Machine & Call,
  caller: Caller,
  { prepare, idempotencyKey, requireAllowed, requireConnected }: MatchedRequest,
  { key, digest }: ClaimRequest,
  isNew = false,
): Promise<Created> {
  const startedAt = context.clock.monotonic();
  for (let isFirst = true; ; isFirst = false) {
    const claim = isNew && isFirst ? null : await context.claims.read(key);
    if (claim !== null && claim.digest !== digest) throw new ServiceError('IDEMPOTENCY_PAYLOAD_MISMATCH');
    const record = claim === null ? null : await context.generations.read(claim.subjectId);
    if (record?.kind === 'generation' && record.deletedAt === undefined) {
      const isExpired = context.clock.now() > (claim?.createdAt ?? 0) + context.settings.replayWindowMs;
      if (idempotencyKey !== undefined && isExpired) throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED');
      return { generation: record, replayed: true };
    }
    try {
      const body = await prepare();
      requireConnected?.();
      return await createGeneration(context, caller, key.key, body, {
        operation: 'create-compatible',
        digest,
        ...(requireAllowed === undefined ? {} : { requireAllowed }),
      });
    } catch (error) {
      const isInProgress = error instanceof ServiceError && error.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (!isInProgress || context.clock.monotonic() - startedAt >= MAX_WAIT_MS) throw error;
      await pause(context.clock, Math.min(error.details.retryAfterMs ?? 200, 200));
    }
  }
}
