import { type Mutant, mutantsIn } from '../../simulation/mutants/mutant.js';

/**
 * Mutants that affect what clients learn about generations. The simulation finds some of the same faults; the rounds
 * must find each of these.
 */
export const TOLD_MUTANTS: readonly Mutant[] = mutantsIn(`
stream-resumes-from-now: 23, core/generation/events.js
What happened between two connections is told to nobody.
- this.from = Math.max(completeTo, startedAt - RESUMED_FOR_MS) - REACH_MS;
+ this.from = startedAt;

stream-tells-what-was-told: 23, core/generation/events.js
Whoever is told of an end is told of the beginning once more behind it.
- known === undefined ? at >= this.floor : isAfter(placeOf(id), known.place)
+ at >= this.floor

start-and-end-sent-alone: 27, core/webhooks/deliveries.js
A start that was refused is sent again after the end was taken.
- deliveryId: deliveryIdOf(context, endpointId, g.generationId)
+ deliveryId: deliveryIdOf(context, endpointId, g.generationId + event)

events-of-one-begin-anew: 23, core/generation/events.js
A client that resumes behind an event is told what it had before that.
- let place = placeOf(after);
+ let place = placeOf(undefined);
`);
