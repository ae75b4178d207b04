import { EVENT_TYPES, generationEvents, isLastEvent } from '../../../../core/generation/generation-events.js';
import { getGeneration } from '../../../../core/generation/get-generation.js';
import { viewGeneration } from '../../../../core/generation/view.js';
import { renderTask, TASK_SCHEMA } from '../../render/generation-task.js';
import { TIMESTAMP } from '../../render/schema-parts.js';
import { timestamp } from '../../render/timestamp.js';
import type { Call, ProtectedOperation } from '../operation.js';

/** How long clients are told to wait before they connect again, in milliseconds. */
const RETRY_MS = 1_000;
/** A proxy closes a connection on which nothing is sent for long. */
const BEAT_MS = 15_000;

export const watchGenerationOperation: ProtectedOperation = {
  operationId: 'watchGeneration',
  summary: 'Follow a generation',
  description:
    'Server-sent events: what has happened to the generation, and then what happens, until it has ended. A comment is sent after 15 seconds without an event. After an interruption send the id of the last event as `Last-Event-ID`; a client that has them all is answered with 204.',
  status: 200,
  mediaType: 'text/event-stream',
  data: {
    title: 'GenerationEvent',
    type: 'object',
    description: 'The data of an event.',
    required: ['type', 'at', 'task'],
    properties: {
      type: { type: 'string', enum: [...EVENT_TYPES] },
      at: TIMESTAMP,
      progress: { type: 'number', minimum: 0, maximum: 1, description: 'How much is done, where the provider says.' },
      task: TASK_SCHEMA,
    },
  },
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  canFollow: true,
  async answer({ context, caller, params, following }) {
    const id = params['generation_id'] ?? '';
    await getGeneration(context, caller, id);
    if (isLastEvent(following?.lastEventId)) return { noContent: true };
    return {
      stream: () => streamOf({ context, caller, following }, id),
      mediaType: 'text/event-stream; charset=utf-8',
      // Of nginx: what is buffered comes too late.
      headers: { 'X-Accel-Buffering': 'no' },
    };
  },
};

async function* streamOf(
  { context, caller, following }: Pick<Call, 'context' | 'caller' | 'following'>,
  generationId: string,
): AsyncGenerator<string> {
  if (following === undefined) return;
  yield `retry: ${RETRY_MS}\n\n`;
  const { lastEventId: after, until } = following;
  for await (const event of generationEvents(context, caller, generationId, { after, until, beatMs: BEAT_MS })) {
    if (event === 'beat') {
      yield ': \n\n';
      continue;
    }
    const { type, at, id, generation } = event;
    const { progress } = generation;
    const data = {
      type,
      at: timestamp(at),
      ...(type === 'progress' ? { progress } : {}),
      task: renderTask(await viewGeneration(context, generation)),
    };
    yield `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  }
}
