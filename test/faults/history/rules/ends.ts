import type { Generation } from '../../../../core/generation/generation.js';
import type { Finding } from '../../../history/finding.js';
import type { Known } from '../known.js';
import { longestGapMs, touches } from '../spans.js';
import { type Wish, wishOf } from '../wish.js';

/**
 * What trouble can make of something: its deadline passes, or all attempts are spent while workers and stores come and
 * go.
 */
const HINDRANCES: ReadonlySet<string> = new Set([
  'TASK_TIMEOUT',
  'OUTPUT_STORE_FAILED',
  'PROVIDER_UNAVAILABLE',
  'OUTPUT_INVALID',
]);

/**
 * Invariants 12 and 20: what was accepted runs, and ends as its client asked. It may fail otherwise, or be without an output
 * that did not arrive from a vendor, only for trouble that met it while it ran, or that left it no time to begin; what was
 * made in a burst at rest has no such excuse. That a cancelled one was cancelled by its client is for the rule about cancels.
 */
export function* checkEnds(known: Known): Iterable<Finding> {
  const inExactBursts = new Set(known.history.facts.bursts.flatMap(({ keys, isExact }) => (isExact ? keys : [])));
  for (const generation of known.generations()) {
    const { generationId, clientTraceId = '', status, outputs, error } = generation;
    const body = known.bodyOf(generation);
    if (!body || (status !== 'succeeded' && status !== 'failed')) continue;
    const wish = wishOf(known.history.facts.models, body);
    if (isGranted(generation, wish)) continue;
    const isHindrance =
      status === 'failed'
        ? HINDRANCES.has(error?.code ?? '')
        : isPart(generation, wish) && isOfVendors(known, generation);
    if (isHindrance && !inExactBursts.has(clientTraceId) && wasHindered(known, generation)) continue;
    yield {
      invariant: 12,
      sentence: `generation ${generationId} ${status} with ${outputs.length} outputs and ${error?.code ?? 'no error'}, where ${describeWish(wish)} was asked for, and no trouble explains it (${describeTimes(generation)})`,
    };
  }
}

function isGranted({ status, outputs, error }: Generation, wish: Wish): boolean {
  return status === 'succeeded'
    ? wish.outputs === outputs.length
    : wish.error !== undefined && wish.error === error?.code;
}

function isPart({ outputs }: Generation, wish: Wish): boolean {
  return outputs.length > 0 && wish.outputs !== undefined && outputs.length < wish.outputs;
}

/** The pictures of the sandbox are made where they are stored, so that none is lost on its way. */
function isOfVendors({ history: { vendors } }: Known, { modelKey }: Generation): boolean {
  return vendors !== undefined && modelKey in vendors.terms.policies;
}

/** One that ran: while it did. One that never came to run: there was no calm in which it could have. */
function wasHindered(
  { history: { facts } }: Known,
  { createdAt, completedAt = Infinity, runDeadlineAt, terms }: Generation,
): boolean {
  if (runDeadlineAt === undefined)
    return longestGapMs(facts.troubles, { from: createdAt, until: completedAt }) < facts.enoughCalmMs;
  return touches(facts.troubles, { from: runDeadlineAt - terms.runTimeoutMs, until: completedAt });
}

function describeWish({ outputs, error }: Wish): string {
  return [outputs === undefined ? [] : [`${outputs} outputs`], error ?? []].flat().join(' or ');
}

/** In milliseconds since the epoch, as troubles are told. */
function describeTimes({ createdAt, completedAt, runDeadlineAt, terms }: Generation): string {
  const begun = runDeadlineAt === undefined ? 'never begun' : `begun at ${runDeadlineAt - terms.runTimeoutMs}`;
  return `created at ${createdAt}, ${begun}, ended at ${completedAt ?? 'no time'}`;
}
