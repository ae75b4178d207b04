import { mayHaveHad } from '../balances.js';
import type { Finding } from '../../../history/finding.js';
import type { Burst } from '../history.js';
import { isSuccess, told, type Answered, type Known } from '../known.js';
import { textOf } from '../../../history/values.js';

/** Invariant 13: a refusal for want of credits is true, and of creates at once as many are accepted as can be paid. */
export function* checkRefusals(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('create'))
    if (exchange.answer.status === 402) yield* checkTrue(known, exchange);
  for (const burst of known.history.facts.bursts) yield* checkBurst(known, burst);
}

/** At some moment while the request was under way there was less available than it costs. */
function* checkTrue(known: Known, exchange: Answered<'create'>): Iterable<Finding> {
  const cost = known.priceOf(exchange.request.body);
  if (cost === undefined) return;
  const span = { from: exchange.sentAt, until: exchange.at };
  const wasShort = mayHaveHad(known.ledgerOf(exchange.by), known.history.facts, span, (available) => available < cost);
  if (!wasShort)
    yield {
      invariant: 13,
      sentence: `${told(exchange)} was refused for want of ${cost} credits, and there were enough all the time`,
    };
}

function* checkBurst(known: Known, { by, keys, cost, balance, isExact }: Burst): Iterable<Finding> {
  const ids = new Set<string>();
  const answered = known
    .answered('create')
    .filter((exchange) => exchange.by === by && keys.includes(exchange.request.key));
  for (const exchange of answered.filter(isSuccess)) ids.add(textOf(exchange.answer.data?.['generation_id']));
  // What came to nothing, or to less, made room for another.
  const returned = [...ids]
    .flatMap((id) => known.entriesOf(id))
    .filter(({ kind }) => kind === 'release')
    .reduce((sum, { credits }) => sum + credits, 0);
  const most = Math.min(keys.length, Math.floor((balance + returned) / cost));
  const least = Math.min(keys.length, Math.floor(balance / cost));
  const fits = isExact ? ids.size === least : ids.size <= most;
  if (!fits)
    yield {
      invariant: 13,
      sentence: `of ${keys.length} creates of ${cost} by ${by} with ${balance} credits ${ids.size} were accepted, where ${isExact ? '' : 'at most '}${isExact ? least : most} can be paid`,
    };
}
