import type { Mutant } from '../mutant.js';

const STEPS = 'core/generation/run/next-step.js';
const COLLECT = 'core/generation/run/collect-outputs.js';

/** What can be got wrong while a worker runs a generation. */
export const RUN_MUTANTS: readonly Mutant[] = [
  {
    name: 'wake-ups-dropped',
    breaks: [12, 20],
    file: 'core/generation/run/dispatcher.js',
    find: 'deliver(generationId) { return this.accept(generationId); }',
    replace:
      'deliver(generationId) { return this.runs.has(generationId) ? this.accept(generationId) : Promise.resolve(); }',
    why: 'A worker takes a wake-up for done, and runs nothing.',
  },
  {
    name: 'overtaker-submits-without-asking',
    breaks: [5],
    file: 'core/generation/run/take-lease.js',
    find: 'return refused === undefined ? { generation, ...execution, isFresh: false } : null;',
    replace: 'return refused === undefined ? { generation, ...execution, isFresh: true } : null;',
    why: 'An attempt that another worker may have handed over is handed over again without asking the provider.',
  },
  {
    name: 'unknown-acceptance-resubmitted',
    breaks: [5],
    file: STEPS,
    find: "if (answer === 'unsupported' && !rules.mayResubmit)",
    replace: "if (answer === 'unsupported' && rules === undefined)",
    why: 'A model that forbids to submit twice is submitted twice when its provider cannot tell.',
  },
  {
    name: 'lost-lease-continued',
    breaks: [14, 16],
    file: 'core/generation/run/lease-holder.js',
    find: 'get generation() { this.throwIfLost(); return this.current; }',
    replace: 'get generation() { return this.current; }',
    why: 'A worker that lost its lease goes on with the version that it lost it to, and writes under the next fence.',
  },
  {
    name: 'run-goes-past-its-deadline',
    breaks: [6, 20],
    file: 'core/generation/run/next-step.js',
    find: 'now > (g.runDeadlineAt ?? Infinity) ? timeOut(g, state) : undefined',
    replace: "now > (g.runDeadlineAt ?? Infinity) ? { do: 'rest', ms: 600_000 } : undefined",
    why: 'A worker that holds the lease goes on resting when the deadline is over.',
  },
  {
    name: 'delivered-before-a-stop-is-dropped',
    breaks: [3],
    file: STEPS,
    find: "{ do: 'finish', command: { event: 'stop', outputs } }",
    replace: "{ do: 'finish', command: { event: 'stop', outputs: [] } }",
    why: 'What a provider had finished before it stopped is neither delivered nor charged.',
  },
  {
    name: 'place-never-given-back',
    breaks: [20],
    file: 'core/generation/run/dispatcher.js',
    find: 'if (!taken) return place.release();',
    replace: 'if (!taken) return;',
    why: 'A place in the lane is lost whenever there was nothing to take.',
  },
  {
    name: 'accounts-do-not-take-turns',
    breaks: [20],
    file: 'core/generation/run/fair-semaphore.js',
    find: 'line.delete(accountId); if (waiting.length > 0) line.set(accountId, waiting); return waiter;',
    replace: 'if (waiting.length === 0) line.delete(accountId); return waiter;',
    why: 'The account that came first stays first in line for as long as it has something waiting.',
  },
  {
    name: 'take-overs-wait-their-turn',
    breaks: [20],
    file: 'core/generation/run/dispatcher.js',
    find: '.enter({ generationId, accountId, runDeadlineAt })',
    replace: '.enter({ generationId, accountId })',
    why: 'A run that lost its worker waits behind those that have not begun, until its deadline is over.',
  },
  {
    name: 'outputs-not-held-to-the-request',
    breaks: [9],
    file: COLLECT,
    find: "const fault = 'invalid' in facts ? facts.invalid : mismatch(facts, model, g);",
    replace: "const fault = 'invalid' in facts ? facts.invalid : undefined;",
    why: 'Whatever decodes is delivered and charged, whether or not it is what was asked for.',
  },
  {
    name: 'workers-share-output-keys',
    breaks: [9, 16],
    file: COLLECT,
    find: 'return `outputs/${generationId}/${fence}/${index}`;',
    replace: 'return `outputs/${generationId}/${index}`;',
    why: 'An overtaken worker writes over, or removes, what the next one has delivered.',
  },
  {
    name: 'sent-attempt-forgotten-on-a-stop',
    breaks: [5],
    file: 'core/generation/decide.js',
    find: 'command.isUnsent ? withoutUnsentAttempt(g) : g',
    replace: 'withoutUnsentAttempt(g)',
    why: 'A worker that goes away hands back an attempt that it had handed over as if nobody had it.',
  },
  {
    name: 'forgotten-task-handed-over-again',
    breaks: [5],
    file: STEPS,
    find: "state.unknownReports >= MAX_UNKNOWN_REPORTS ? { do: 'end-attempt', failure: unavailable(rules) }",
    replace:
      "state.unknownReports >= MAX_UNKNOWN_REPORTS ? { do: 'end-attempt', failure: failure('PROVIDER_UNAVAILABLE', true) }",
    why: 'A provider that knows a task no more is given it again, though the model forbids to have it made twice.',
  },
];
