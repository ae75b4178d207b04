import type { Generation } from '../../../../core/generation/generation.js';
import { type Finding, finding } from '../../finding.js';
import { type SeenVendors, touches, type VendorSubmission, type VendorTask } from '../history.js';
import type { Known } from '../known.js';

/** Tolerance for clocks and timers, in milliseconds. */
const JITTER_MS = 50;

/**
 * Invariants 3, 5, 10, 16 and 21, as vendors see them: who gets a generation, how often, how many at once, and whose
 * pictures are delivered.
 */
export function* checkVendors(known: Known): Iterable<Finding> {
  const { vendors } = known.history;
  if (vendors === undefined) return;
  const byPrompt = new Map<string, VendorSubmission[]>();
  for (const submission of vendors.submissions)
    byPrompt.set(submission.prompt, [...(byPrompt.get(submission.prompt) ?? []), submission]);
  const endedAt = new Map<string, number>();
  for (const generation of known.generations()) {
    if (!(generation.modelKey in vendors.terms.policies)) continue;
    const prompt = known.expected.vendorPrompt(generation.clientTraceId ?? '');
    const submissions = (byPrompt.get(prompt) ?? []).toSorted((a, b) => a.arrivedAt - b.arrivedAt);
    byPrompt.delete(prompt);
    endedAt.set(prompt, generation.completedAt ?? Infinity);
    yield* checkSubmissions(known, vendors, generation, submissions);
    yield* checkMadeForIt(generation, submissions);
    if (vendors.terms.paid.includes(generation.modelKey)) yield* checkPaid(generation, submissions);
  }
  for (const [prompt, [submission]] of byPrompt)
    yield finding`11: ${submission?.maker} was asked for "${prompt}", which no generation asks for`;
  yield* checkConcurrent(vendors, endedAt);
}

function* checkSubmissions(
  known: Known,
  vendors: SeenVendors,
  { generationId, modelKey, status, runDeadlineAt }: Generation,
  submissions: readonly VendorSubmission[],
): Iterable<Finding> {
  if (status === 'cancelled' && runDeadlineAt === undefined && submissions.length > 0)
    yield finding`10: generation ${generationId} was cancelled while queued, and ${submissions[0]?.maker} was asked for it`;
  const { troubles } = known.history.facts;
  const mayResubmit = vendors.terms.policies[modelKey] === 'resubmit';
  for (const [index, later] of submissions.entries()) {
    // For a model that permits resubmission, each unknown outcome allows one more task.
    const earlierOnes = submissions.slice(mayResubmit ? Math.max(0, index - 1) : 0, index);
    for (const earlier of earlierOnes) {
      const isGuess = mayResubmit && touches(troubles, { from: earlier.arrivedAt, until: later.arrivedAt });
      if (isGuess || isKnownToBeOver(vendors, earlier, later.arrivedAt)) continue;
      yield finding`21: generation ${generationId} of ${modelKey} came to ${earlier.maker} at ${earlier.arrivedAt} and to ${later.maker} at ${later.arrivedAt}, and it was not known that the first ${earlier.task ? `, task ${earlier.task.id} until ${earlier.task.endedAt},` : ''} makes nothing any more`;
    }
  }
}

/**
 * Whether the vendor had refused it, reported that its task has ended, or reported twice, a settle time apart, that it
 * has no such task. The first of these reports counts from a settle time after the call had ended, which is no earlier
 * than the request arrived, except for the delay of its link.
 */
function isKnownToBeOver(
  { terms, notFound }: SeenVendors,
  { maker, token, arrivedAt, refusedAt = Infinity, task }: VendorSubmission,
  at: number,
): boolean {
  if (refusedAt < at || (task?.endToldAt ?? Infinity) < at) return true;
  if (task !== undefined) return false;
  const countsFrom = arrivedAt + terms.settleMs - terms.longestDelayMs - JITTER_MS;
  const said = notFound.filter(
    (one) => one.maker === maker && one.token === token && one.at >= countsFrom && one.at < at,
  );
  return said.some((first) => said.some((second) => second.at - first.at >= terms.settleMs - JITTER_MS));
}

/** A vendor is paid for each submission that it accepted. A delivered generation is paid for exactly once. */
export function* checkPaid(
  { generationId, modelKey, status }: Pick<Generation, 'generationId' | 'modelKey' | 'status'>,
  submissions: readonly VendorSubmission[],
): Iterable<Finding> {
  const paid = submissions.filter(({ task }) => task !== undefined).length;
  if (status === 'succeeded' ? paid !== 1 : paid > 1)
    yield finding`21: generation ${generationId} of ${modelKey} ${status}, and its vendor is paid for ${paid} tasks`;
}

/** Delivered pictures were made for this very generation. */
function* checkMadeForIt(
  { generationId, outputs }: Generation,
  submissions: readonly VendorSubmission[],
): Iterable<Finding> {
  const made = new Set(
    submissions.flatMap(({ task }) => (task === undefined ? [] : Object.values(task.deliveredSha256))),
  );
  for (const { mediaId, sha256 } of outputs)
    if (!made.has(sha256))
      yield finding`16: output ${mediaId} of generation ${generationId} was made for no task of it`;
}

interface Counted {
  readonly maker: string;
  readonly prompt: string;
  readonly task: VendorTask;
}

/**
 * A vendor has at most as many concurrent tasks as its limit allows, apart from tasks that lost the worker that counted
 * them: tasks of generations that have ended, and from before processes or the database were last in trouble.
 */
function* checkConcurrent(vendors: SeenVendors, endedAt: ReadonlyMap<string, number>): Iterable<Finding> {
  const { terms, submissions, lostWorkers } = vendors;
  const tasks = submissions.flatMap(({ maker, prompt, task }): Counted[] =>
    task === undefined ? [] : [{ maker, prompt, task }],
  );
  for (const { maker, task: taken } of tasks) {
    const most = terms.mostConcurrent[maker] ?? Infinity;
    const at = taken.takenAt;
    const countedFrom = Math.max(0, ...lostWorkers.filter(({ from }) => from <= at).map(({ until }) => until));
    const open = tasks.filter(
      ({ maker: other, prompt, task }) =>
        other === maker &&
        task.takenAt <= at &&
        task.takenAt >= countedFrom &&
        (task.endedAt ?? Infinity) > at &&
        (endedAt.get(prompt) ?? Infinity) > at,
    );
    if (open.length > most)
      yield finding`20: ${maker} had ${open.length} tasks at ${at}, and ${most} is its limit: ${open.map(({ task }) => task.id).join(', ')}`;
  }
}
