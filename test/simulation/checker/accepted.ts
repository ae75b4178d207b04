import type { Generation } from '../../../core/generation/generation.js';
import type { ClaimKey } from '../../../core/idempotency/claim.js';
import type { JsonObject } from '../../../core/json.js';
import type { Settings } from '../../../core/settings.js';
import type { Upload } from '../../../core/uploads/upload.js';
import { checkEffect, checkMismatch, checkOrigin, effectOf, payloadOf } from '../../history/access.js';
import { checkShortage } from '../../history/ledger.js';
import { same, textOf } from '../../history/values.js';
import { type Answer, type Asked, type Durable, type Party, violation } from '../observed.js';
import type { Books } from './books.js';
import type { Caps } from './caps.js';
import type { Claims } from './claims.js';
import { demandNone, type EventOrder } from './event-order.js';
import type { GenerationListener, Generations } from './generations.js';
import { isCreate, isKeyed, isSilent, type KeyedRequest, keyFor, type Keys } from './keys.js';
import type { Prices } from './prices.js';
import { MAX_SKEW_MS } from './process-clocks.js';
import { hasEnded } from './record-events.js';

interface Knowledge {
  readonly durable: Pick<Durable, 'generations' | 'uploads'>;
  readonly settings: Settings;
  readonly order: EventOrder;
  readonly books: Books;
  readonly caps: Caps;
  readonly claims: Claims;
  readonly keys: Keys;
  readonly prices: Prices;
  readonly generations: Generations;
}

/** So long a create over `/v1` waits for one in progress with its key. */
const MAX_IN_PROGRESS_MS = 600_000;

type Success = Extract<Answer, { outcome: 'success' }>;
type Refused = Extract<Answer, { outcome: 'refused' }>;

/**
 * Invariants 11, 12 and 13: what may be accepted under a key, what an acceptance guarantees, and that a refusal was
 * right.
 */
export class Accepted implements GenerationListener {
  /** Ids of generations and uploads that were returned as new. */
  private readonly givenAsNew = new Set<string>();
  readonly acknowledged = new Set<string>();

  constructor(private readonly known: Knowledge) {}

  inserted(g: Generation): void {
    const { generationId } = g;
    const claimed = this.known.claims.keyOfGeneration(generationId);
    const key = this.requireClaimed(claimed, generationId, g, `generation ${generationId}`);
    const fitting = this.known.keys.matching(key, (request) => this.isWhatWasAsked(g, request));
    if (fitting.length === 0)
      throw violation`11: generation ${generationId} is not what anybody asked for under key ${key.key}`;
  }

  /** Called by the part that follows uploads. */
  prepared(upload: Upload): void {
    const { uploadId } = upload;
    const claimed = this.known.claims.keyOf('prepare', uploadId);
    const key = this.requireClaimed(claimed, uploadId, upload, `upload ${uploadId}`);
    const fitting = this.known.keys.matching(key, ({ body }) => {
      const sha256 = body['sha256'];
      return (
        body['filename'] === upload.filename &&
        body['media_type'] === upload.mediaType &&
        body['byte_size'] === upload.byteSize &&
        body['role'] === upload.role &&
        (typeof sha256 === 'string' ? sha256.toLowerCase() : undefined) === upload.declaredSha256
      );
    });
    if (fitting.length === 0)
      throw violation`11: upload ${uploadId} is not what anybody asked for under key ${key.key}`;
  }

  /** A new record is claimed for its own App, its claim names it, and a request under that key may have made it. */
  private requireClaimed(
    key: ClaimKey | undefined,
    id: string,
    { accountId, appId }: Pick<Party, 'accountId' | 'appId'>,
    what: string,
  ): ClaimKey {
    if (key?.accountId !== accountId || key.appId !== appId)
      throw violation`11: ${what} of App ${appId} was inserted, and no claim of it ever named it`;
    const claim = this.known.claims.at(key);
    if (claim?.subjectId !== id)
      throw violation`11: ${what} was inserted, and key ${key.key} now names ${claim?.subjectId}`;
    demandNone(checkOrigin(what, key.key, this.known.keys.origins(key)));
    return key;
  }

  async served(asked: Asked, answer: Answer, at: number): Promise<void> {
    const { request, party } = asked;
    if (!party) return;
    if (answer.outcome === 'refused') this.refused(asked, party, answer, at);
    if (answer.outcome !== 'success' || !isKeyed(request)) return;
    const id = textOf(answer.data[isCreate(request) ? 'generation_id' : 'upload_id']);
    this.requireOneEffect(party, request, asked.number, answer);
    if (answer.replayed && !isSilent(request)) this.requireInWindow(asked, keyFor(party, request));
    if (request.operation !== 'complete') await this.requireDurable(asked, party, request, id);
  }

  answered({ request }: Asked, answer: Answer): void {
    if (isCreate(request) && answer.outcome === 'success') this.acknowledged.add(textOf(answer.data['generation_id']));
  }

  private requireOneEffect(party: Party, request: KeyedRequest, number: number, { data, replayed }: Success): void {
    const claimed = keyFor(party, request);
    const use = this.known.keys.at(claimed);
    if (!use) return;
    const { key } = claimed;
    const operation = request.operation === 'create-compatible' ? 'create' : request.operation;
    const effect = effectOf(operation, data);
    const success = { told: `request ${number}`, key, payload: payloadOf(request), effect };
    const isFirst = isSilent(request) || this.known.claims.wasExpired(claimed);
    if (use.shown && !isFirst) demandNone(checkEffect(use.shown, success));
    use.shown = success;
    // Completing an upload twice has one effect, and two processes may both have contributed to it.
    if (replayed || operation === 'complete') return;
    if (this.givenAsNew.has(effect))
      throw violation`11: ${effect} was given out as new a second time, under key ${key}`;
    this.givenAsNew.add(effect);
  }

  /**
   * An answer is replayed only for a limited time. The deciding clock is unknown here, so any time that may be right is
   * accepted.
   */
  private requireInWindow(asked: Asked, key: ClaimKey): void {
    const claim = this.known.claims.at(key);
    const lateMs =
      this.known.order.arrivedAt(asked) - (claim?.createdAt ?? Infinity) - this.known.settings.replayWindowMs;
    if (lateMs > 2 * MAX_SKEW_MS)
      throw violation`11: request ${asked.number} was answered from key ${key.key} ${lateMs} ms after its replay window`;
  }

  private async requireDurable(asked: Asked, party: Party, request: KeyedRequest, id: string): Promise<void> {
    const { claims, books, durable } = this.known;
    const sentUnder = keyFor(party, request);
    const key = isSilent(request) ? (claims.keyOfGeneration(id) ?? sentUnder) : sentUnder;
    const claim = claims.at(key);
    if (claim?.subjectId !== id && !claims.wasExpired(key))
      throw violation`12: ${id} was accepted under key ${key.key}, which now names ${claim?.subjectId}`;
    const made = claims.keyOf(request.operation, id);
    if (made === undefined || !same([made.accountId, made.appId, made.key], [key.accountId, key.appId, key.key]))
      throw violation`11: ${id} was given to key ${key.key}, and made under ${made?.key}`;
    const record = isCreate(request) ? await durable.generations.read(id) : await durable.uploads.read(id);
    if (record === null || record.kind === 'void')
      throw violation`12: ${id} was accepted, and ${record ? 'is ruled out' : 'is not stored'}`;
    if (record.accountId !== party.accountId || record.appId !== party.appId)
      throw violation`17: ${id} was given to App ${party.appId}, and belongs to ${record.appId}`;
    if (record.kind === 'upload') this.requireOpenTarget(asked, record);
    if (record.kind !== 'generation') return;
    const money = books.moneyOf(id);
    if (money?.held !== BigInt(record.reservedCredits) || (money.endedAt !== undefined && !hasEnded(record)))
      throw violation`12: generation ${id} was accepted, and is ${record.status} without a hold`;
    // The request may have been for something that its record no longer contains.
    const accepted = this.known.generations.lives.get(id)?.asked ?? record;
    const fitting = this.known.keys.matching(
      key,
      (sent) => payloadOf(sent) === payloadOf(request) && this.isWhatWasAsked(accepted, sent),
    );
    if (fitting.length === 0)
      throw violation`11: generation ${id} was given to a request that did not ask for it, under key ${key.key}`;
  }

  /** The deciding clock is unknown here, too. */
  private requireOpenTarget(asked: Asked, { uploadId, expiresAt }: Upload): void {
    const lateMs = this.known.order.arrivedAt(asked) - expiresAt;
    if (lateMs > 2 * MAX_SKEW_MS)
      throw violation`11: request ${asked.number} was given the target of upload ${uploadId} ${lateMs} ms after it had expired`;
  }

  private refused(asked: Asked, { accountId, keyId }: Party, { code, message }: Refused, at: number): void {
    const { request } = asked;
    const { caps, claims, keys, books, prices, order, settings } = this.known;
    const since = order.arrivedOrder(asked);
    if (code === 'INTERNAL_ERROR')
      throw violation`12: request ${asked.number} (${request.operation}) was answered with INTERNAL_ERROR: ${message}`;
    if (code === 'IDEMPOTENCY_PAYLOAD_MISMATCH' && isKeyed(request) && asked.party) {
      const { payloads = new Set<string>() } = keys.at(keyFor(asked.party, request)) ?? {};
      demandNone(checkMismatch(`request ${asked.number}`, keyFor(asked.party, request).key, payloads));
    }
    if (code === 'IDEMPOTENCY_IN_PROGRESS' && request.operation === 'create-compatible') {
      const waitedMs = at - order.arrivedAt(asked);
      if (waitedMs < MAX_IN_PROGRESS_MS)
        throw violation`11: request ${asked.number} was refused for one in progress after ${waitedMs} ms`;
    }
    if (code === 'QUEUE_FULL') {
      const wasFull =
        books.openHoldsOf(accountId)?.wasEver(since, (count) => count >= settings.maxOpenGenerationsPerAccount) ??
        false;
      if (!wasFull)
        throw violation`13: request ${asked.number} was refused for a full queue, and account ${accountId} never had ${settings.maxOpenGenerationsPerAccount} open generations meanwhile`;
    }
    if (code === 'CREDITS_INSUFFICIENT' && (isCreate(request) || request.operation === 'estimate')) {
      // The rest of the key's cap is as valid a reason as the account's balance.
      const available = [
        ...(books.availableOf(accountId)?.valuesSince(since) ?? []),
        ...(caps.leftSince(keyId, since) ?? []),
      ];
      const told = `request ${asked.number}`;
      demandNone(checkShortage({ told, accountId, available }, prices.ofBody(request.body)));
    }
    if (isCreate(request) && asked.party && (code === 'QUEUE_FULL' || code === 'CREDITS_INSUFFICIENT')) {
      const key = keyFor(asked.party, request);
      if (claims.hasStoodSince(key, since))
        throw violation`11: request ${asked.number} was refused with ${code}, and generation ${claims.at(key)?.subjectId} stands under its key ${key.key}`;
    }
  }

  private isWhatWasAsked(g: Generation, { body }: KeyedRequest): boolean {
    if (body['model_key'] !== g.modelKey || (body['prompt'] ?? '') !== g.prompt || body['operation'] !== g.operation)
      return false;
    if (body['negative_prompt'] !== g.negativePrompt || body['client_trace_id'] !== g.clientTraceId) return false;
    return (
      same(this.known.prices.parametersIn(body, g.modelKey), g.parameters) &&
      same(
        referencesIn(body),
        g.references.map(({ uploadId }) => uploadId),
      )
    );
  }
}

function referencesIn(body: JsonObject): string[] {
  const ids = body['reference_upload_ids'];
  return Array.isArray(ids) ? ids.map((id) => textOf(id).toLowerCase()) : [];
}
