import { getGeneration } from '../../../core/generation/get-generation.js';
import { isTerminal } from '../../../core/generation/generation.js';
import { WakeableDelay } from '../../../core/generation/run/waiting.js';
import { Generations } from '../generated/darkroom/v1/generations_pb.js';
import { streaming } from '../method.js';
import { readMask, showGeneration } from '../shown-generation.js';

/** How often a watched generation is read, by its id. */
const LOOK_EVERY_MS = 500;

export const WATCH_METHODS = [
  streaming(Generations.method.watchGeneration, {
    scope: 'generations:read',
    async *answer({ context, caller, request, signal, requireAllowed }) {
      const mask = readMask(request.readMask);
      const rest = new WakeableDelay(context.clock);
      signal.addEventListener('abort', () => rest.wake());
      for (let seen: number | undefined; !signal.aborted; await rest.sleep(LOOK_EVERY_MS)) {
        await requireAllowed();
        const generation = await getGeneration(context, caller, request.generationId);
        if (generation.version === seen) continue;
        seen = generation.version;
        yield { generation: await showGeneration(context, generation, mask) };
        if (isTerminal(generation.status)) return;
      }
    },
  }),
] as const;
