import type { Unreached } from './unreached-webhooks.js';

/** Of clients that follow events: a run has some dozens of generations, and one set of stores. */
export const UNREACHED_OF_READERS: readonly Unreached[] = [
  {
    file: 'core/generation/watch.ts',
    begins: [
      '(change) => this.writtenElsewhere(change)',
      '() => this.hurry()',
      'writtenElsewhere(change)',
      'hurry() {',
    ],
    atMost: 4,
    why: 'the stores of a run tell of no writes: that is tested with a store that does',
  },
  {
    file: 'core/generation/watch.ts',
    begins: ['get followed()', '?? 0', ': { cursor }', 'continue;', 'open.add('],
    atMost: 5,
    why: 'asked by tests alone, or needs a thousand generations of an App, or one that opens or is removed while it is looked at',
  },
  {
    file: 'core/generation/events.ts',
    begins: ['return;', 'await pause(', ': { cursor }'],
    atMost: 4,
    why: 'needs 500 generations of an App, or a line that breaks while the past is told',
  },
  {
    file: 'core/generation/events.ts',
    begins: [
      '&& !this.waiting.has(generationId)',
      'this.isOverrun = true',
      '?? 0',
      '?? updatedAt',
      'get remembered()',
      'const before = completeTo - REMEMBERED_MS',
      'this.known.delete(generationId)',
    ],
    atMost: 7,
    why: 'needs ten thousand changes, or a line that is cut for ten minutes',
  },
  {
    file: 'core/generation/events.ts',
    begins: ['function isEventId(text)', 'return undefined;'],
    atMost: 2,
    why: 'ids are checked by fronts',
  },
];
