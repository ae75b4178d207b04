import { ServiceError } from '../../../core/errors.js';
import { getGeneration } from '../../../core/generation/get-generation.js';
import { isTerminal, type GenerationRecord } from '../../../core/generation/generation.js';
import { WakeableDelay } from '../../../core/generation/run/waiting.js';
import { Generations } from '../generated/darkroom/v1/generations_pb.js';
import { streaming } from '../method.js';
import { readMask, showGeneration } from '../shown-generation.js';

/** How often it is asked whether the caller may still watch. */
const ASK_EVERY_MS = 1_000;

export const WATCH_METHODS = [
  streaming(Generations.method.watchGeneration, {
    scope: 'generations:read',
    async *answer({ context, caller, request, signal, requireAllowed }) {
      const mask = readMask(request.readMask);
      const rest = new WakeableDelay(context.clock);
      signal.addEventListener('abort', () => rest.wake());
      let told: GenerationRecord | null | undefined;
      const followNoMore = context.generationWatch.follow(request.generationId.toLowerCase(), (record) => {
        told = record;
        rest.wake();
      });
      try {
        let last = await getGeneration(context, caller, request.generationId);
        for (let seen = -1; !signal.aborted; await rest.sleep(ASK_EVERY_MS)) {
          await requireAllowed();
          if (told === null || (told !== undefined && told.kind !== 'generation'))
            throw new ServiceError('GENERATION_JOB_NOT_FOUND');
          if (told !== undefined && told.version > last.version) last = told;
          if (last.version === seen) continue;
          seen = last.version;
          yield { generation: await showGeneration(context, last, mask) };
          if (isTerminal(last.status)) return;
        }
      } finally {
        followNoMore();
      }
    },
  }),
] as const;
