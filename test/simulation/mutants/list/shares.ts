import type { Mutant } from '../mutant.js';

const USE = 'core/providers/provider-use.js';
const GATE = 'core/providers/provider-gates.js';
const RENEWALS = 'core/providers/provider-shares.js';

/** Possible mistakes where processes share the limits of a provider. */
export const SHARE_MUTANTS: readonly Mutant[] = [
  {
    name: 'slots-of-others-not-seen',
    breaks: [25],
    file: USE,
    find: 'const free = Math.max(0, maxConcurrent - others.reduce((sum, { slots }) => sum + slots, 0));',
    replace: 'const free = maxConcurrent;',
    why: 'Each worker has as many tasks at a provider as all of them may have together.',
  },
  {
    name: 'lapsed-slots-given-out-at-once',
    breaks: [25],
    file: RENEWALS,
    find: 'if (at.monotonic < one.since + SHARE_MS + longestCallMs)',
    replace: 'if (at.monotonic < one.since + 2_000)',
    why: 'The slots of a worker are given to another one while a submission of the first is on its way.',
  },
  {
    name: 'submissions-not-taken-from-the-bucket',
    breaks: [25],
    file: USE,
    find: 'thousandths: thousandths - 1_000 * submissions',
    replace: 'thousandths',
    why: 'Submissions that a worker was given are given out again.',
  },
  {
    name: 'bucket-refilled-far-too-fast',
    breaks: [25],
    file: USE,
    find: 'Math.floor((now - refilledAt) * rate)',
    replace: 'Math.floor(4 * (now - refilledAt) * rate)',
    why: 'A minute sees more submissions than the limit says.',
  },
  {
    name: 'room-not-looked-at-before-a-submission',
    breaks: [25],
    file: 'core/generation/run/submit-attempt.js',
    find: "if (!of.entry.maySubmit()) return 'no-room';",
    replace: '',
    why: 'A worker submits with what it was given when the run began, and a task that it took over without a slot.',
  },
  {
    name: 'room-given-back-while-the-task-goes-on',
    breaks: [25],
    file: 'core/generation/run/dispatcher.js',
    find: "if (end === 'abandoned') this.orphaned.keep(run.lastKnown, entry); else entry.release();",
    replace: 'entry.release();',
    why: 'A run that ends because the store does not answer frees the slot of a task that goes on at the provider.',
  },
  {
    name: 'lost-race-for-a-share-taken-for-won',
    breaks: [25],
    file: RENEWALS,
    find: "if ((await providerUses.replace(given.next, stored?.version ?? 0)) === 'conflict') continue;",
    replace: 'await providerUses.replace(given.next, stored?.version ?? 0);',
    why: 'A worker uses slots that another one was given meanwhile.',
  },
  {
    name: 'tasks-of-earlier-processes-not-counted',
    breaks: [25],
    file: 'core/recovery/orphaned-tasks.js',
    find: 'this.count(record, provider);',
    replace: ';',
    why: 'With exclusive stores the shares of a process that was killed are void, and its tasks take no place.',
  },
  {
    name: 'submits-before-earlier-tasks-are-counted',
    breaks: [25],
    file: GATE,
    find: 'return this.options.limits().maxConcurrent !== undefined && !this.options.hasCounted();',
    replace: 'return false;',
    why: 'A process with exclusive stores submits while the list of what is at the provider is still read.',
  },
];
