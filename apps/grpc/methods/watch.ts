import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import { appEvents } from '../../../core/generation/app-events.js';
import { isEventId } from '../../../core/generation/event-id.js';
import { getGeneration } from '../../../core/generation/get-generation.js';
import { isTerminal, type GenerationRecord } from '../../../core/generation/generation.js';
import { WakeableDelay } from '../../../core/generation/run/waiting.js';
import { Generations } from '../generated/darkroom/v1/generations_pb.js';
import { streaming } from '../method.js';
import { EVENT_TYPE } from '../render/enums.js';
import { timestamp } from '../render/times.js';
import { readMask, showGeneration } from '../shown-generation.js';

/** How often it is asked whether the caller may still watch. */
const ASK_EVERY_MS = 1_000;

export const WATCH_METHODS = [
  streaming(Generations.method.watchGeneration, {
    scope: 'generations:read',
    async *answer({ context, caller, request, signal, requireAllowed }) {
      const mask = readMask(request.readMask);
      const leave = context.lastingCalls.follow(caller);
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
        leave();
        followNoMore();
      }
    },
  }),
  streaming(Generations.method.watchEvents, {
    scope: 'generations:read',
    async *answer({ context, caller, request, signal, requireAllowed }) {
      const mask = readMask(request.readMask);
      const until = {
        get isOver() {
          return signal.aborted;
        },
        onOver: (listener: () => void) => {
          signal.addEventListener('abort', listener);
          return () => signal.removeEventListener('abort', listener);
        },
      };
      const after = request.afterEventId === '' ? undefined : request.afterEventId;
      if (after !== undefined && !isEventId(after))
        throw fieldInvalid('/after_event_id', 'after_event_id must be the event_id of an event of this App.');
      let hasPosition = false;
      for await (const event of appEvents(context, caller, { after, until, beatMs: ASK_EVERY_MS })) {
        await requireAllowed();
        if (event.type === 'beat') {
          if (hasPosition || event.id === undefined) continue;
          hasPosition = true;
          yield { eventId: event.id };
          continue;
        }
        const { id, type, at, generation } = event;
        const queuePosition = type === 'queued' ? await context.queuePositions.before(generation) : undefined;
        yield {
          ...(queuePosition === undefined ? {} : { queuePosition }),
          eventId: id,
          type: EVENT_TYPE[type],
          eventTime: timestamp(at),
          generation: await showGeneration(context, generation, mask),
        };
      }
    },
  }),
] as const;
