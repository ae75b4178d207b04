import type { ErrorCode } from '../../../core/errors.js';
import type { ClaimKey } from '../../../core/idempotency/claim.js';
import type { JsonObject } from '../../../core/json.js';
import { attributionOf } from '../../history/attributions.js';
import { type KeyedSuccess, payloadOf, type PossibleOrigin } from '../../history/keys.js';
import type { Answer, Asked, Party, Request } from '../observed.js';
import { keyName } from './claims.js';

export type KeyedRequest = Extract<Request, { operation: 'create' | 'prepare' | 'complete' }>;

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
  /** How often it reached a process, which is more than once when somebody on the way sends it again. */
  arrivals: number;
  /** To how many of these a process said for certain that nothing was done. */
  refusals: number;
  /** Whether the client knows that nothing was done. */
  isRefused: boolean;
}

/** All that was ever sent under one key. */
export interface KeyUse {
  readonly key: ClaimKey;
  readonly sent: Sent[];
  readonly payloads: Set<string>;
  /** The last success under the key, since its last claim was removed as expired. */
  shown?: KeyedSuccess;
}

/** What clients sent under their keys, and what is known to have come of it. */
export class Keys {
  private readonly uses = new Map<string, KeyUse>();

  noteAsked({ number, request, party }: Asked): void {
    if (!party || !isKeyed(request)) return;
    const key = keyFor(party, request);
    let use = this.uses.get(keyName(key));
    if (!use) this.uses.set(keyName(key), (use = { key, sent: [], payloads: new Set() }));
    const payload = payloadOf(request);
    use.sent.push({ number, request, payload, credentialId: party.keyId, arrivals: 0, refusals: 0, isRefused: false });
    use.payloads.add(payload);
  }

  noteArrived(asked: Asked): void {
    const sent = this.find(asked);
    if (sent) sent.arrivals += 1;
  }

  noteServed(asked: Asked, answer: Answer): void {
    if (!isCertain(answer)) return;
    const sent = this.find(asked);
    if (sent) sent.refusals += 1;
  }

  noteAnswered(asked: Asked, answer: Answer): void {
    if (!isCertain(answer)) return;
    const sent = this.find(asked);
    if (sent) sent.isRefused = true;
  }

  at(key: ClaimKey): KeyUse | undefined {
    return this.uses.get(keyName(key));
  }

  /** Requests under a key with the payload that a test of their bodies picks. */
  matching(key: ClaimKey, fits: (request: KeyedRequest) => boolean): readonly Sent[] {
    return this.at(key)?.sent.filter(({ request }) => fits(request)) ?? [];
  }

  /** What may have made something under a key: not what was refused wherever it arrived, and whose client knows. */
  origins(key: ClaimKey): PossibleOrigin[] {
    const sent = this.at(key)?.sent ?? [];
    return sent.map(({ arrivals, refusals, isRefused }) => ({ madeNothing: isRefused && arrivals === refusals }));
  }

  /** What credits that are reserved under a key may be attributed to. */
  attributions(key: ClaimKey): JsonObject[] {
    return (this.at(key)?.sent ?? []).map(({ credentialId, request }) => attributionOf(credentialId, request.body));
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
  return request.operation === 'create' || request.operation === 'prepare' || request.operation === 'complete';
}

export function keyFor({ accountId, appId }: Party, { operation, key }: KeyedRequest): ClaimKey {
  return { accountId, appId, operation, key };
}
