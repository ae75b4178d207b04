import type { Finding } from './finding.js';

const REACHES_ALL_WITHIN_MS = 5_000;

/**
 * What an answer says of the API key it was asked with: the key was taken, it is revoked, it is refused for another
 * reason although the request carried it whole; or nothing, because any request may get such an answer, or none came.
 */
export type KeyVerdict = 'taken' | 'revoked' | 'refused' | 'nothing';

/** A request that carried an API key, in milliseconds of one clock. */
export interface KeyUsed {
  /** The request in a sentence. */
  readonly told: string;
  /** When it arrived, at the earliest. */
  readonly arrivedAt: number;
  readonly answeredAt: number;
  readonly verdict: KeyVerdict;
  /** The answer in a word. */
  readonly answer: string;
}

export interface Revocation {
  readonly askedAt: number;
  /** When an operator was first told that it is done. Absent as long as nobody was. */
  readonly doneAt?: number;
}

/** Invariant 18: a revoked key is refused everywhere within 5 seconds, and no other one is refused. */
export function* checkKeyUsed(used: KeyUsed, revocation: Revocation | undefined): Iterable<Finding> {
  const { told, arrivedAt, answeredAt, verdict, answer } = used;
  const mayBeRevoked = revocation !== undefined && revocation.askedAt <= answeredAt;
  if (verdict === 'refused' || (verdict === 'revoked' && !mayBeRevoked))
    yield { invariant: 18, sentence: `${told} was answered with ${answer}, and its key was good` };
  const lateMs = arrivedAt - (revocation?.doneAt ?? Infinity);
  if (verdict === 'taken' && lateMs > REACHES_ALL_WITHIN_MS)
    yield {
      invariant: 18,
      sentence: `${told} arrived ${Math.round(lateMs)} ms after its key was revoked, and was answered with ${answer}`,
    };
}
