import { generationEvents, isLastEvent } from '../../../../core/generation/generation-events.js';
import { getGeneration } from '../../../../core/generation/get-generation.js';
import { BEAT_MS, EVENT_SCHEMA, eventStream } from '../event-frames.js';
import type { ProtectedOperation } from '../operation.js';

export const watchGenerationOperation: ProtectedOperation = {
  operationId: 'watchGeneration',
  summary: 'Follow a generation',
  description:
    'Server-sent events: what has happened to the generation, and then what happens, until it has ended. A comment is sent after 15 seconds without an event. After an interruption send the id of the last event as `Last-Event-ID`; a client that has them all is answered with 204.',
  status: 200,
  mediaType: 'text/event-stream',
  data: EVENT_SCHEMA,
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  canFollow: true,
  async answer({ context, caller, params, following }) {
    const id = params['generation_id'] ?? '';
    await getGeneration(context, caller, id);
    if (following === undefined || isLastEvent(following.lastEventId)) return { noContent: true };
    context.lastingCalls.requireRoom(caller);
    const { lastEventId: after, until } = following;
    return eventStream(context, () => generationEvents(context, caller, id, { after, until, beatMs: BEAT_MS }));
  },
};
