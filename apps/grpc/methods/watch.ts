import type { Clock } from '../../../core/ports/clock.js';
import { getGeneration } from '../../../core/generation/get-generation.js';
import { isTerminal } from '../../../core/generation/generation.js';
import { Generations } from '../generated/darkroom/v1/generations_pb.js';
import { streaming } from '../method.js';
import { readMask, showGeneration } from '../shown-generation.js';

/** How often a generation that is watched is looked at: one read by its id. */
const LOOK_EVERY_MS = 500;

export const WATCH_METHODS = [
  streaming(Generations.method.watchGeneration, {
    scope: 'generations:read',
    async *answer({ context, caller, request, signal }) {
      const mask = readMask(request.readMask);
      for (let seen: number | undefined; !signal.aborted; await pause(context.clock, LOOK_EVERY_MS, signal)) {
        const generation = await getGeneration(context, caller, request.generationId);
        if (generation.version === seen) continue;
        seen = generation.version;
        yield { generation: await showGeneration(context, generation, mask) };
        if (isTerminal(generation.status)) return;
      }
    },
  }),
] as const;

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => { cancel(); signal.removeEventListener('abort', end); resolve(); };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end);
  });
}
