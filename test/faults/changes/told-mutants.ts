import type { Mutant } from '../../simulation/mutants/mutant.js';

/**
 * Mutants that affect what clients learn about generations. The simulation finds some of the same faults; the rounds
 * must find each of these.
 */
export const TOLD_MUTANTS: readonly Mutant[] = [
  {
    name: 'stream-resumes-from-now',
    breaks: [23],
    file: 'core/generation/events.js',
    find: 'this.from = Math.max(completeTo, startedAt - RESUMED_FOR_MS) - REACH_MS;',
    replace: 'this.from = startedAt;',
    why: 'What happened between two connections is told to nobody.',
  },
  {
    name: 'stream-tells-what-was-told',
    breaks: [23],
    file: 'core/generation/events.js',
    find: 'known === undefined ? at >= this.floor : isAfter(placeOf(id), known.place)',
    replace: 'at >= this.floor',
    why: 'Whoever is told of an end is told of the beginning once more behind it.',
  },
  {
    name: 'start-and-end-sent-alone',
    breaks: [27],
    file: 'core/webhooks/deliveries.js',
    find: 'deliveryId: deliveryIdOf(context, endpointId, g.generationId)',
    replace: 'deliveryId: deliveryIdOf(context, endpointId, g.generationId + event)',
    why: 'A start that was refused is sent again after the end was taken.',
  },
  {
    name: 'events-of-one-begin-anew',
    breaks: [23],
    file: 'core/generation/events.js',
    find: 'let place = placeOf(after);',
    replace: 'let place = placeOf(undefined);',
    why: 'A client that resumes behind an event is told what it had before that.',
  },
];
