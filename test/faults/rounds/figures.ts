import { INSTALLATION_KEY } from '../../../adapters/minio/reach-bucket.js';
import { SLOW_ANSWER_MS, slowAnswers } from '../harness/troubled-s3.js';
import type { History, SeenVendors } from '../../history/recorded/history.js';
import { isSuccess, Known, taskHasEnded } from '../../history/recorded/known.js';
import { EXPECTED, mustSucceed, wishOf } from '../clients/wishes.js';
import { vendorPrompt } from '../vendors/vendor-models.js';
import { describeStruck, type Struck } from './struck.js';

export interface Measured {
  readonly struck: readonly Struck[];
  /**
   * Times from the moment all of a round's faults were healed to the first success of a request sent after it, in
   * milliseconds.
   */
  readonly recoveriesMs: readonly number[];
  readonly starts: number;
  /** Times from the first start until the last fault was healed, and until the last check could start. */
  readonly underFaultsMs: number;
  readonly wallMs: number;
  /** How often a process hardly ran for a second after the last fault. */
  readonly starvedInCalm: number;
}

/** Summarises the run in a few lines. */
export function tellFigures(
  { facts, exchanges, atRest, vendors }: History,
  { struck, recoveriesMs, starts, underFaultsMs, wallMs, starvedInCalm }: Measured,
): string[] {
  const byKey = new Map<string, { requests: number; outcome: string }>();
  for (const { request, answered } of exchanges) {
    if (request.operation !== 'create') continue;
    const known = byKey.get(request.key) ?? { requests: 0, outcome: 'unknown' };
    const isAccepted = known.outcome === 'accepted' || (answered !== undefined && isSuccess(answered));
    const code = answered?.answer.code;
    byKey.set(request.key, {
      requests: known.requests + 1,
      outcome: isAccepted
        ? 'accepted'
        : code !== undefined && answered && answered.answer.status < 500
          ? 'refused'
          : known.outcome,
    });
  }
  const keys = [...byKey.values()];
  const unanswered = exchanges.filter(({ answered }) => !answered).length;
  const inCalm = exchanges.filter(({ sentAt, answered }) => answered !== undefined && sentAt >= facts.quietAt);
  const away = exchanges.filter(({ answered }) => answered?.answer.status === 503).length;
  return [
    `${exchanges.length} requests, ${unanswered} without an answer, ${away} answered 503; ${keys.length} creates: ${counted(keys.map(({ outcome }) => outcome))}; ${keys.reduce((sum, { requests }) => sum + requests - 1, 0)} repeats`,
    `generations: ${counted(atRest.generations.map((record) => (record.kind === 'generation' ? record.status : record.kind)))}; uploads: ${counted(atRest.uploads.map(({ record }) => (record.kind === 'upload' ? record.status : record.kind)))}`,
    `failures: ${counted(atRest.generations.flatMap((record) => (record.kind === 'generation' && record.error ? [record.error.code] : [])))}`,
    ...(vendors === undefined ? [] : [describeVendors(vendors), describePaid(vendors, atRest)]),
    `faults: ${describeStruck(struck)}`,
    `first success at most ${Math.round(Math.max(0, ...recoveriesMs))} ms after healing; ${starts} starts of processes; ${Math.round(underFaultsMs / 1_000)} s of faults, ${Math.round(wallMs / 1_000)} s in all`,
    `${slowAnswers(inCalm).length} of ${inCalm.length} answers in the calm after all faults took ${SLOW_ANSWER_MS} ms or longer, and ${starvedInCalm} times a process hardly ran for a second; what ran beside that is excused`,
    `left in the bucket, and referred to by nothing: ${counted(leftovers(atRest))}`,
  ];
}

function describeVendors({ submissions, notFound }: SeenVendors): string {
  const again = submissions.length - new Set(submissions.map(({ prompt }) => prompt)).size;
  const refused = submissions.filter(({ refusedAt }) => refusedAt !== undefined).length;
  const lost = submissions.filter(({ task, refusedAt }) => task === undefined && refusedAt === undefined).length;
  return `vendors: submissions to ${counted(submissions.map(({ maker }) => maker))}; ${again} of a generation that one had come for, ${refused} refused, ${lost} that came to nothing; ${notFound.length} answers that there is no such task`;
}

/** Submissions that paid vendors accepted, per delivered generation. */
function describePaid({ terms, submissions }: SeenVendors, { generations }: History['atRest']): string {
  const prompts = new Map(
    generations.flatMap((record) =>
      record.kind === 'generation' && terms.paid.includes(record.modelKey)
        ? [[vendorPrompt(record.clientTraceId ?? ''), record.status] as const]
        : [],
    ),
  );
  const taken = submissions.filter(({ task, prompt }) => task !== undefined && prompts.has(prompt));
  const delivered = [...prompts.values()].filter((status) => status === 'succeeded').length;
  const forDelivered = taken.filter(({ prompt }) => prompts.get(prompt) === 'succeeded').length;
  return `paid vendors: ${forDelivered} submissions taken for ${delivered} generations delivered, ${taken.length - forDelivered} for others`;
}

/** Objects that no record names, by their folder. They only use space. */
function leftovers({ objects, generations, uploads }: History['atRest']): string[] {
  const named = new Set<string>();
  for (const record of generations)
    if (record.kind === 'generation') for (const { objectKey } of record.outputs) named.add(objectKey);
  for (const { record } of uploads)
    if (record.kind === 'upload')
      for (const key of [record.objectKey, record.stagingKey]) if (key !== undefined) named.add(key);
  return objects
    .filter(({ key }) => !named.has(key) && key !== INSTALLATION_KEY)
    .map(({ key }) => key.split('/')[0] ?? key);
}

function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (counts.size === 0) return 'none';
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}

/** Minimum activity that this many rounds must show: far below the usual, and far above what proves nothing. */
const SUCCEEDED_A_ROUND = 10;
const FETCHED_A_ROUND = 4;
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
  const known = new Known(history, EXPECTED);
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
