import type { Finding } from '../../history/finding.js';
import { mustSucceed, wishOf } from './clean-history.js';
import type { History } from './history.js';
import { isSuccess, Known, taskHasEnded } from './known.js';
import { checkCancels, checkDelivered, checkEnds, checkUploads, checkViews } from './rules/generations.js';
import { checkAttributions, checkBalances, checkBooks, checkCaps, checkCharges } from './rules/money.js';
import { checkAccess, checkAnswers, checkForeignIds, checkKeys, checkRefusals, checkRest } from './rules/requests.js';
import { checkStreams } from './rules/streams.js';
import { checkVendors } from './rules/vendors.js';
import { checkWebhooks } from './rules/webhooks.js';

const RULES = [
  checkBooks,
  checkAttributions,
  checkBalances,
  checkCharges,
  checkCaps,
  checkViews,
  checkCancels,
  checkKeys,
  checkRefusals,
  checkUploads,
  checkDelivered,
  checkForeignIds,
  checkAccess,
  checkAnswers,
  checkRest,
  checkEnds,
  checkVendors,
  checkWebhooks,
  checkStreams,
];

/**
 * Returns everything in a history that contradicts the guarantees. Pure, and shares no code with the program: its
 * inputs are what clients saw and when, what the operator finds at rest, and the contract. Checks that the simulation
 * can make as well are rules of `test/history`. The files here collect the inputs of these rules by the times of
 * clients, where the simulation has the exact order of events, and check what only real processes show: bursts,
 * troubles and files as they are fetched.
 */
export function checkHistory(history: History): Finding[] {
  const known = new Known(history);
  return RULES.flatMap((check) => [...check(known)]);
}

/** Minimum activity that this many rounds must show: far below the usual, and far above what proves nothing. */
const SUCCEEDED_A_ROUND = 10;
const FETCHED_A_ROUND = 10;
const UNSURE_A_ROUND = 0.5;
/** In a few rounds, no client may happen to notice a fault. */
const ROUNDS_THAT_ARE_NOTICED = 5;
/**
 * The minimum share of successes among generations that must succeed, were not cancelled and did not run out of time:
 * on a slow machine most can run out of time, and a separate rule checks when one had time enough.
 */
const SUCCEEDED_SHARE = 0.7;

/**
 * Returns one sentence for everything too rare in a history to prove anything: a run in which nothing happened breaks
 * no guarantee either.
 */
export function whatIsMissing(history: History, rounds: number): string[] {
  const known = new Known(history);
  const generations = known.generations().filter(({ status }) => taskHasEnded(status));
  const succeeded = generations.filter(({ status }) => status === 'succeeded').length;
  const meant = generations.filter((generation) => {
    const body = known.bodyOf(generation);
    return (
      generation.status !== 'cancelled' &&
      generation.error?.code !== 'TASK_TIMEOUT' &&
      body !== undefined &&
      mustSucceed(wishOf(history.facts.models, body))
    );
  });
  const granted = meant.filter(({ status }) => status === 'succeeded').length;
  const fetched = known
    .answered('fetch')
    .filter((exchange) => isSuccess(exchange) && exchange.answer.bytes !== undefined).length;
  const unsure = history.exchanges.filter(({ answered }) => !answered || answered.answer.status === 503).length;
  const [leastSucceeded, leastFetched] = [rounds * SUCCEEDED_A_ROUND, rounds * FETCHED_A_ROUND];
  const leastUnsure = rounds < ROUNDS_THAT_ARE_NOTICED ? 0 : rounds * UNSURE_A_ROUND;
  return [
    ...(succeeded < leastSucceeded
      ? [`Only ${succeeded} generations succeeded in ${rounds} rounds, and ${leastSucceeded} should at least.`]
      : []),
    ...(granted < SUCCEEDED_SHARE * meant.length
      ? [`Of ${meant.length} generations that could only succeed ${granted} did.`]
      : []),
    ...(fetched < leastFetched
      ? [`Only ${fetched} outputs were fetched in ${rounds} rounds, and ${leastFetched} should be at least.`]
      : []),
    ...(unsure < leastUnsure
      ? [`Only ${unsure} requests got no answer, or a 503, in ${rounds} rounds, and ${leastUnsure} should at least.`]
      : []),
  ];
}
