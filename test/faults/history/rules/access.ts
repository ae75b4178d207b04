import type { Finding } from '../../../history/finding.js';
import { isDefinite, told, type Known } from '../known.js';

const REACHES_ALL_WITHIN_MS = 5_000;

/**
 * Invariant 18: a revoked key is refused by every process within 5 seconds, no other is, and no secret is written
 * anywhere.
 */
export function* checkAccess(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  const revocations = new Map(facts.revocations.map((revocation) => [revocation.by, revocation]));
  for (const exchange of known.answered('create', 'get', 'cancel', 'credits', 'prepare', 'complete')) {
    const revocation = revocations.get(exchange.by);
    const { answer, at, sentAt } = exchange;
    const isRefused = answer.status === 401;
    if (isRefused && (answer.code !== 'DEVELOPER_TOKEN_REVOKED' || !revocation || at < revocation.askedAt)) {
      yield { invariant: 18, sentence: `${told(exchange)} was refused with ${answer.code}, and the key was good` };
    }
    if (revocation && sentAt > revocation.doneAt + REACHES_ALL_WITHIN_MS && isDefinite(exchange) && !isRefused) {
      yield {
        invariant: 18,
        sentence: `${told(exchange)} was answered with ${answer.status}, ${Math.round(sentAt - revocation.doneAt)} ms after its key was revoked`,
      };
    }
  }
  for (const { where, text } of atRest.texts) {
    for (const secret of facts.secrets)
      if (text.includes(secret.text)) yield { invariant: 18, sentence: `${where} contains ${secret.name}` };
  }
  for (const exchange of known.history.exchanges) {
    const said = JSON.stringify(exchange.answered?.answer ?? null);
    for (const secret of facts.secrets)
      if (said.includes(secret.text))
        yield { invariant: 18, sentence: `${told(exchange)} was answered with ${secret.name}` };
  }
}
