import type { History } from './history.js';
import { isSuccess, Known, taskHasEnded } from './known.js';
import { mustSucceed, wishOf } from './wish.js';

/** What so many rounds must have shown at least: far below what they do, and far above what says nothing. */
const SUCCEEDED_A_ROUND = 10;
const FETCHED_A_ROUND = 10;
const UNSURE_A_ROUND = 0.5;
/** A few rounds may happen to have faults that no client notices. */
const ROUNDS_THAT_ARE_NOTICED = 5;
/**
 * Of what must succeed, nobody cancelled and was not out of time: on a slow machine most can be, and a rule of its own says
 * when one had time enough.
 */
const SUCCEEDED_SHARE = 0.7;

/**
 * What is too little in a history to prove anything, a sentence each: a run in which nothing happened breaks no promise
 * either.
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
