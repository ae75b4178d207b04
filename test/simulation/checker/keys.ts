import type { ErrorCode } from '../../../core/errors.js';
import type { ClaimKey } from '../../../core/idempotency/claim.js';
import type { JsonObject } from '../../../core/json.js';
import {
  checkKeyUsed,
  ForeignAnswers,
  type KeyedSuccess,
  type KeyVerdict,
  payloadOf,
  type PossibleOrigin,
  type Revocation,
} from '../../history/access.js';
import { attributionOf } from '../../history/ledger.js';
import { type Answer, type Asked, type Party, type Request, violation } from '../observed.js';
import type { Handlers } from './calls.js';
import { keyName } from './claims.js';
import { demandNone, type EventOrder, ValueHistory } from './event-order.js';
import type { Generations } from './generations.js';
import type { Uploads } from './uploads.js';

export type KeyedRequest = Extract<Request, { operation: 'create' | 'create-compatible' | 'prepare' | 'complete' }>;

/** Stands for the keys that the service makes for creates over `/v1` without one: it begins all of them with this word. */
const SILENT = 'silent';

/** Refusals after which the client cannot know that nothing was or will be done under its key. */
const TELLS_NOTHING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'SERVICE_UNAVAILABLE',
  'INTERNAL_ERROR',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_REPLAY_EXPIRED',
  'REQUEST_TIMEOUT',
]);

interface Sent {
  readonly number: number;
  readonly request: KeyedRequest;
  readonly payload: string;
  /** The API key that it was sent with. */
  readonly credentialId: string;
  /** How often it reached a process, which is more than once when a proxy repeats it. */
  arrivals: number;
  /** The number of arrivals for which a process definitely answered that nothing was done. */
  refusals: number;
  /** Whether the client knows that nothing was done. */
  isRefused: boolean;
}

/** Everything that was ever sent under one key. */
export interface KeyUse {
  readonly key: ClaimKey;
  readonly sent: Sent[];
  readonly payloads: Set<string>;
  /** The last success under the key, since its last claim was removed as expired. */
  shown?: KeyedSuccess;
}

/** Requests that clients sent under their keys, and their known results. */
export class Keys {
  private readonly uses = new Map<string, KeyUse>();

  asked({ number, request, party }: Asked): void {
    if (!party || !isKeyed(request)) return;
    const key = keyFor(party, request);
    let use = this.uses.get(keyName(key));
    if (!use) this.uses.set(keyName(key), (use = { key, sent: [], payloads: new Set() }));
    const payload = payloadOf(request);
    use.sent.push({ number, request, payload, credentialId: party.keyId, arrivals: 0, refusals: 0, isRefused: false });
    use.payloads.add(payload);
  }

  arrived(asked: Asked): void {
    const sent = this.find(asked);
    if (sent) sent.arrivals += 1;
  }

  served(asked: Asked, answer: Answer): void {
    if (!isCertain(answer)) return;
    const sent = this.find(asked);
    if (sent) sent.refusals += 1;
  }

  answered(asked: Asked, answer: Answer): void {
    if (!isCertain(answer)) return;
    const sent = this.find(asked);
    if (sent) sent.isRefused = true;
  }

  /** Creates over `/v1` without a key count as sent under one key of their App. */
  at(key: ClaimKey): KeyUse | undefined {
    return this.uses.get(keyName(isOfService(key) ? { ...key, key: SILENT } : key));
  }

  /** Requests under a key whose body passes the given test. */
  matching(key: ClaimKey, fits: (request: KeyedRequest) => boolean): readonly Sent[] {
    return this.at(key)?.sent.filter(({ request }) => fits(request)) ?? [];
  }

  /**
   * Requests that may have created something under a key: all except those that were refused on every arrival, to their
   * client's knowledge.
   */
  origins(key: ClaimKey): PossibleOrigin[] {
    const sent = this.at(key)?.sent ?? [];
    return sent.map(({ arrivals, refusals, isRefused }) => ({ madeNothing: isRefused && arrivals === refusals }));
  }

  /** The possible attributions of credits that are reserved under a key. */
  attributions(key: ClaimKey): JsonObject[] {
    const { appId } = key;
    return (this.at(key)?.sent ?? []).map(({ credentialId, request }) =>
      attributionOf({ credentialId, appId }, request.body),
    );
  }

  private find({ number, request, party }: Asked): Sent | undefined {
    return party && isKeyed(request)
      ? this.at(keyFor(party, request))?.sent.find((sent) => sent.number === number)
      : undefined;
  }
}

function isCertain(answer: Answer): boolean {
  return answer.outcome === 'refused' && !TELLS_NOTHING.has(answer.code);
}

export function isKeyed(request: Request): request is KeyedRequest {
  return 'key' in request || request.operation === 'create-compatible';
}

export function isCreate(request: Request): request is Extract<KeyedRequest, { operation: `create${string}` }> {
  return request.operation === 'create' || request.operation === 'create-compatible';
}

/** Whether a request could have had a key, and has none. */
export function isSilent(request: KeyedRequest): boolean {
  return request.key === undefined;
}

/** Whether the service has made this key, for a create over `/v1` without one. */
export function isOfService({ operation, key }: ClaimKey): boolean {
  return operation === 'create-compatible' && key.startsWith(`${SILENT} `);
}

export function keyFor({ accountId, appId }: Party, { operation, key = SILENT }: KeyedRequest): ClaimKey {
  return { accountId, appId, operation, key };
}

/** Simulated clients mistype their secret, or forget to send it: such a refusal reveals nothing about the key. */
const SAYS_NOTHING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_REQUIRED',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
]);

/** Invariant 18: every answer against whether its key was revoked, in true time. */
export class Access {
  private readonly revocations = new Map<string, Revocation>();

  constructor(private readonly order: EventOrder) {}

  asked({ request, at }: Asked): void {
    if (request.operation === 'revoke' && !this.revocations.has(request.keyId))
      this.revocations.set(request.keyId, { askedAt: at });
  }

  served(asked: Asked, answer: Answer, at: number): void {
    const { party, number, request } = asked;
    if (!party || answer.outcome === 'lost') return;
    const used = {
      told: `request ${number} (${request.operation})`,
      arrivedAt: this.order.arrivedAt(asked),
      answeredAt: at,
      verdict: verdictOf(answer),
      answer: answer.outcome === 'success' ? 'success' : answer.code,
    };
    demandNone(checkKeyUsed(used, this.revocations.get(party.keyId)));
  }

  answered({ request, at: askedAt }: Asked, answer: Answer, at: number): void {
    if (request.operation !== 'revoke' || answer.outcome !== 'success') return;
    const known = this.revocations.get(request.keyId);
    if (known?.doneAt === undefined) this.revocations.set(request.keyId, { askedAt, ...known, doneAt: at });
  }
}

function verdictOf(answer: Exclude<Answer, { outcome: 'lost' }>): KeyVerdict {
  if (answer.outcome === 'success') return 'taken';
  if (SAYS_NOTHING.has(answer.code)) return 'nothing';
  if (answer.code !== 'DEVELOPER_TOKEN_REVOKED') return 'taken';
  // A suspended account has the same code; the rule about suspensions checks it.
  return answer.message === 'The account is suspended.' ? 'nothing' : 'revoked';
}

const BODY_LENGTH = 43;
const PREFIX = 'svc_live_';

/** Invariant 18: no API key, nor the unguessable part of one, in any stored, logged or returned data. */
export class Secrets {
  /** Large parts of records are the same objects from version to version; each is checked once. */
  private readonly clean = new WeakSet<object>();

  constructor(private readonly secrets: () => readonly string[]) {}

  requireNone(value: unknown, where: () => string): void {
    if (typeof value === 'string') {
      if (value.length >= BODY_LENGTH) this.lookAt(value, where);
    } else if (typeof value === 'object' && value !== null && !this.clean.has(value)) {
      this.requireNoneWithin(value, where);
    }
  }

  private requireNoneWithin(value: object, where: () => string): void {
    this.clean.add(value);
    if (ArrayBuffer.isView(value)) return;
    if (value instanceof Error) {
      for (const part of [value.message, value.stack, value.cause]) this.requireNone(part, where);
    }
    for (const part of value instanceof Map ? value.values() : Object.values(value)) this.requireNone(part, where);
  }

  private lookAt(text: string, where: () => string): void {
    for (const secret of this.secrets()) {
      const body = secret.slice(PREFIX.length, PREFIX.length + BODY_LENGTH);
      if (text.includes(body)) throw violation`18: ${where()} contains an API key's secret`;
    }
  }
}

/**
 * Refusals that any request may get, whatever its subject. All keys carry all scopes, so a missing scope is not among
 * them.
 */
const TOLD_ANYBODY: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DEVELOPER_TOKEN_REQUIRED',
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_EXPIRED',
  'DEVELOPER_TOKEN_REVOKED',
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_ERROR',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_PAYLOAD_MISMATCH',
]);
const SHA256 = /^[0-9a-f]{64}$/i;

/** Invariant 17: the answer to each request about an id of another App, or of nothing. */
export class ForeignIds {
  private readonly answers = new ForeignAnswers();

  constructor(
    private readonly generations: Generations,
    private readonly uploads: Uploads,
  ) {}

  served({ request, party, number }: Asked, answer: Answer): void {
    if (!party || !isAboutId(request)) return;
    const { operation } = request;
    const id = (operation === 'complete' ? request.uploadId : request.generationId).toLowerCase();
    const record = operation === 'complete' ? this.uploads.record(id) : this.generations.record(id);
    const isOwn = isOf(record, party) && record.kind !== 'void';
    // A generation that existed a moment ago may have been read then.
    if (isOwn || isOf(this.generations.lives.get(id), party) || answer.outcome === 'lost') return;
    if (answer.outcome === 'refused') {
      if (TOLD_ANYBODY.has(answer.code)) return;
      if (operation === 'complete' && !isReadable(request.body['sha256'])) return;
    }
    const told = `request ${number}, ${operation} of ${id} by App ${party.appId},`;
    const isSuccess = answer.outcome === 'success';
    const refusal = answer.outcome === 'refused' ? { code: answer.code, message: answer.message } : {};
    demandNone(this.answers.check({ told, operation, id, owner: record?.appId, isSuccess, ...refusal }));
  }
}

type AboutId = Extract<Request, { operation: 'get' | 'cancel' | 'delete' | 'complete' }>;

function isAboutId(request: Request): request is AboutId {
  return ['get', 'cancel', 'delete', 'complete'].includes(request.operation);
}

function isOf<T extends { readonly accountId: string; readonly appId: string }>(
  thing: T | undefined,
  { accountId, appId }: Party,
): thing is T {
  return thing?.accountId === accountId && thing.appId === appId;
}

function isReadable(sha256: unknown): boolean {
  return sha256 === undefined || (typeof sha256 === 'string' && SHA256.test(sha256));
}

const REACHES_ALL_WITHIN_MS = 5_000;
const SUSPENDED = 'The account is suspended.';

/** One account's suspensions as they were stored, in true time. */
interface Suspended {
  readonly history: ValueHistory;
  /** Start and end of each; the last one may still continue. */
  readonly spans: { readonly from: number; to: number }[];
}

/**
 * Invariant 18: nothing is held on a suspended account, its keys are refused, and no other account is treated as
 * suspended.
 */
export class Suspensions {
  private readonly accounts = new Map<string, Suspended>();
  /** Operators' requests by operation and account. */
  private readonly requested = new Set<string>();

  constructor(private readonly order: EventOrder) {}

  readonly handlers: Handlers = {
    'accounts.apply': ({ args: [{ accountId, profile, holdsOpened, version }], result, at }) => {
      if (result !== 'applied') return;
      const { history, spans } = this.of(accountId);
      const span = spans.at(-1);
      const wasSuspended = span?.to === Infinity;
      // Commands are written in batches: one that resumes may open holds after that.
      if (wasSuspended && profile === undefined && holdsOpened.length !== 0)
        throw violation`18: account ${accountId} opened a hold for ${holdsOpened[0]?.generationId} at version ${version}, and is suspended`;
      if (profile === undefined) return;
      const isSuspended = profile.suspendedAt !== undefined;
      // A batch is decided command by command: the account may have been suspended, or not, between two of them.
      const between = isSuspended ? 'resume' : 'suspend';
      if (wasSuspended === isSuspended && this.requested.has(`${between} ${accountId}`)) {
        history.set(this.order.position, isSuspended ? 0 : 1);
        if (!isSuspended) spans.push({ from: at, to: at });
      }
      if (span && wasSuspended && !isSuspended) span.to = at;
      if (!wasSuspended && isSuspended) spans.push({ from: at, to: Infinity });
      history.set(this.order.position, isSuspended ? 1 : 0);
    },
  };

  asked({ request }: Asked): void {
    if (request.operation === 'suspend' || request.operation === 'resume')
      this.requested.add(`${request.operation} ${request.accountId}`);
  }

  served(asked: Asked, answer: Answer, at: number): void {
    if (asked.party) this.ofClient(asked, asked.party.accountId, answer, at);
    else if (answer.outcome === 'success') this.ofOperator(asked);
  }

  private ofClient(asked: Asked, accountId: string, answer: Answer, at: number): void {
    const { spans } = this.of(accountId);
    const arrivedAt = this.order.arrivedAt(asked);
    if (answer.outcome === 'refused' && answer.message === SUSPENDED) {
      const mayBe = spans.some(({ from, to }) => from <= at && to >= arrivedAt - REACHES_ALL_WITHIN_MS);
      if (!mayBe)
        throw violation`18: request ${asked.number} was refused for a suspended account, and ${accountId} was none`;
    }
    if (answer.outcome !== 'success') return;
    const lasting = spans.find(({ from, to }) => from < arrivedAt - REACHES_ALL_WITHIN_MS && to > at);
    if (lasting !== undefined)
      throw violation`18: request ${asked.number} (${asked.request.operation}) arrived ${arrivedAt - lasting.from} ms after account ${accountId} was suspended, and was answered`;
  }

  private ofOperator(asked: Asked): void {
    const { request } = asked;
    if (request.operation !== 'suspend' && request.operation !== 'resume') return;
    const said = request.operation === 'suspend' ? 1 : 0;
    const was = this.of(request.accountId).history.wasEver(this.order.arrivedOrder(asked), (value) => value === said);
    if (!was)
      throw violation`18: an operator was told that ${request.operation} of account ${request.accountId} is done, and it was not`;
  }

  private of(accountId: string): Suspended {
    let known = this.accounts.get(accountId);
    if (!known) this.accounts.set(accountId, (known = { history: new ValueHistory(0), spans: [] }));
    return known;
  }
}
