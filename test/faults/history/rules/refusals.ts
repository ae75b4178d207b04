import { checkAccepted, checkShortage } from '../../../history/credits.js';
import type { Finding } from '../../../history/finding.js';
import { textOf } from '../../../history/values.js';
import type { Burst } from '../history.js';
import { isSuccess, type Known } from '../known.js';

/** Invariant 13: a refusal for want of credits is true, and of creates at once as many are accepted as can be paid. */
export function* checkRefusals(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('create')) {
    if (exchange.answer.status === 402)
      yield* checkShortage(known.creditsAnswer(exchange), known.priceOf(exchange.request.body));
  }
  for (const burst of known.history.facts.bursts) yield* checkBurst(known, burst);
}

function* checkBurst(known: Known, { by, keys, cost, balance, isExact }: Burst): Iterable<Finding> {
  const answered = known
    .answered('create')
    .filter((exchange) => exchange.by === by && keys.includes(exchange.request.key));
  const ids = new Set(answered.filter(isSuccess).map(({ answer }) => textOf(answer.data?.['generation_id'])));
  const returned = [...ids].reduce((sum, id) => sum + Number(known.money.get(id)?.released ?? 0n), 0);
  yield* checkAccepted({
    told: `by ${by}`,
    creates: keys.length,
    accepted: ids.size,
    cost,
    balance,
    returned,
    isExact,
  });
}
