import { checkKeyUsed, type KeyVerdict } from '../../../history/access.js';
import type { Finding } from '../../../history/finding.js';
import type { Answer } from '../history.js';
import { isDefinite, told, type Known } from '../known.js';

/**
 * Invariant 18: a revoked key is refused by every process within 5 seconds, no other is, and no secret is written
 * anywhere.
 */
export function* checkAccess(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  const revocations = new Map(facts.revocations.map((revocation) => [revocation.by, revocation]));
  for (const exchange of known.answered('create', 'get', 'cancel', 'credits', 'prepare', 'complete')) {
    const { sentAt, at, answer } = exchange;
    const used = { told: told(exchange), arrivedAt: sentAt, answeredAt: at, verdict: verdictOf(exchange) };
    yield* checkKeyUsed({ ...used, answer: `${answer.status} ${answer.code ?? ''}` }, revocations.get(exchange.by));
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

function verdictOf(exchange: { readonly answer: Answer }): KeyVerdict {
  const { status, code } = exchange.answer;
  if (status === 401) return code === 'DEVELOPER_TOKEN_REVOKED' ? 'revoked' : 'refused';
  return isDefinite(exchange) ? 'taken' : 'nothing';
}
