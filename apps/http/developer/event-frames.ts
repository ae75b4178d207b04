import type { Context } from '../../../core/context.js';
import { EVENT_TYPES, type Beat, type GenerationEvent } from '../../../core/generation/generation-events.js';
import { viewGeneration } from '../../../core/generation/view.js';
import type { StreamedAnswer } from '../host/answer.js';
import { renderTask, TASK_SCHEMA } from '../render/generation-task.js';
import { TIMESTAMP } from '../render/schema-parts.js';
import { timestamp } from '../render/timestamp.js';
import type { TitledSchema } from '../render/titled-schema.js';

/** How long clients are told to wait before they connect again, in milliseconds. */
const RETRY_MS = 1_000;
/** A proxy closes a connection on which nothing is sent for long. */
export const BEAT_MS = 15_000;

/** The data of an event of a generation. */
export const EVENT_SCHEMA: TitledSchema = {
  title: 'GenerationEvent',
  type: 'object',
  description: 'The data of an event.',
  required: ['type', 'at', 'task'],
  properties: {
    type: { type: 'string', enum: [...EVENT_TYPES] },
    at: TIMESTAMP,
    progress: { type: 'number', minimum: 0, maximum: 1, description: 'How much is done, where the provider says.' },
    position: {
      type: 'integer',
      minimum: 0,
      description: "While it is queued: how many of the App's generations of the same model are queued before it.",
    },
    task: TASK_SCHEMA,
  },
};

/** Events as a stream of server-sent events; a beat is a comment, or the id alone. */
export function eventStream(context: Context, events: () => AsyncIterable<GenerationEvent | Beat>): StreamedAnswer {
  return {
    stream: () => framesOf(context, events()),
    mediaType: 'text/event-stream; charset=utf-8',
    // Of nginx: what is buffered comes too late.
    headers: { 'X-Accel-Buffering': 'no' },
  };
}

async function* framesOf(context: Context, events: AsyncIterable<GenerationEvent | Beat>): AsyncGenerator<string> {
  const told = events[Symbol.asyncIterator]();
  // Followed before its first byte is sent: what a client asks for once it has that is told.
  const first = told.next();
  first.catch(() => undefined);
  try {
    yield `retry: ${RETRY_MS}\n\n`;
    for (let next = await first; next.done !== true; next = await told.next()) yield await frameOf(context, next.value);
  } finally {
    await told.return?.();
  }
}

async function frameOf(context: Context, event: GenerationEvent | Beat): Promise<string> {
  if (event.type === 'beat') return event.id === undefined ? ': \n\n' : `id: ${event.id}\n\n`;
  const { type, at, id, generation } = event;
  const { progress } = generation;
  const position = type === 'queued' ? await context.queuePositions.before(generation) : undefined;
  const data = {
    type,
    at: timestamp(at),
    ...(type === 'progress' ? { progress } : {}),
    ...(position === undefined ? {} : { position }),
    task: renderTask(await viewGeneration(context, generation)),
  };
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
