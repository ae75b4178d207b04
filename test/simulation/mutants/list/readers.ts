import type { Mutant } from '../mutant.js';

const WATCH = 'core/generation/watch.js';
const CHANGES = 'core/generation/events.js';
const PROJECT = 'core/usage/project-usage.js';

/** Possible mistakes in events for followers, and in reports of use. */
export const READER_MUTANTS: readonly Mutant[] = [
  {
    name: 'end-between-two-looks-not-told',
    breaks: [23],
    file: WATCH,
    find: 'const gone = [...app.open].filter((id) => !now.has(id)).values();',
    replace: 'const gone = [].values();',
    why: 'What was open at one look and is not at the next has ended, and nobody reads how.',
  },
  {
    name: 'told-before-it-is-durable',
    breaks: [23],
    file: 'core/generation/watch.js',
    find: 'const outcome = await store.replace(next, expectedVersion);',
    replace: 'written(next); const outcome = await store.replace(next, expectedVersion);',
    why: 'A follower hears of an end that the store refuses, or never gets.',
  },
  {
    name: 'stream-resumed-from-its-new-beginning',
    breaks: [23],
    file: CHANGES,
    find: 'this.from = Math.max(completeTo, startedAt - RESUMED_FOR_MS) - REACH_MS;',
    replace: 'this.from = startedAt;',
    why: 'What happened while the line was cut is not told.',
  },
  {
    name: 'resumed-stream-looks-at-late-creations-only',
    breaks: [23],
    file: 'core/generation/events.js',
    find: 'from - Math.max(0, ...lives) - BEYOND_RUN_MS',
    replace: 'from + REACH_MS',
    why: 'What was created before the line was cut, and ended while it was, is not looked at.',
  },
  {
    name: 'older-version-told-after-a-newer-one',
    breaks: [23],
    file: CHANGES,
    find: 'if (version <= (known?.version ?? -1)) return [];',
    replace: '',
    why: 'A look that began before a write comes after it.',
  },
  {
    name: 'use-counted-again-after-a-conflict',
    breaks: [28],
    file: 'core/usage/usage.js',
    find: 'if (entry.sequence <= row.lastSequence) return row;',
    replace: '',
    why: 'A row that has taken an entry in takes it in again with the next batch.',
  },
  {
    name: 'account-ahead-of-its-rows',
    breaks: [28],
    file: PROJECT,
    find: "if (changes.length > 0 && (await ports.usage.apply(changes)) === 'conflict') return 'conflict';",
    replace:
      'await ports.usage.apply([{ row: entries.reduce((sums, [entry]) => withEntry(sums, entry), whole), expectedSequence: whole.lastSequence }]); ' +
      "if (changes.length > 0 && (await ports.usage.apply(changes)) === 'conflict') return 'conflict';",
    why: 'A process that dies in between leaves entries that no row ever takes in.',
  },
];
