import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { JsonObject } from '../../json.js';
import type { Submission } from '../../ports/provider.js';
import { outputCountOf, type Attempt, type Generation } from '../generation.js';

/** What a submission needs beside the generation. */
export interface SubmissionOf {
  readonly attempt: Pick<Attempt, 'number' | 'token'>;
  readonly settings: JsonObject;
  readonly inputSchema: JsonObject;
  readonly timeLeftMs: number;
  /** Whether the submission is over: then no more of a reference is given. */
  readonly isOver: () => boolean;
  /** Called when our object store does not give a reference. */
  readonly onUnread: () => void;
}

/** What the provider is handed for one attempt. It sees the task, never whose it is. */
export function submissionOf(
  context: Pick<Context, 'objects'>,
  g: Generation,
  { attempt, settings, inputSchema, timeLeftMs, isOver, onUnread }: SubmissionOf,
): Submission {
  return {
    generationId: g.generationId,
    attempt: attempt.number,
    modelKey: g.modelKey,
    operation: g.operation,
    prompt: g.prompt,
    ...(g.negativePrompt === undefined ? {} : { negativePrompt: g.negativePrompt }),
    parameters: g.parameters,
    inputSchema,
    references: g.references.map((reference) => {
      const { role, mediaType, objectKey, uploadId, isMasked, contentBytes: byteSize = reference.byteSize } = reference;
      return {
        role,
        mediaType,
        byteSize,
        ...(isMasked === undefined ? {} : { isMasked }),
        open: async () => {
          const bytes = await watched(context.objects.read(objectKey, { from: 0, to: byteSize }), onUnread);
          if (!bytes) throw new Error(`The bytes of upload ${uploadId} are gone.`);
          return whileOpen(isOver, watchedBytes(bytes, onUnread));
        },
      };
    }),
    settings,
    token: attempt.token,
    outputCount: outputCountOf(g),
    timeLeftMs,
  };
}

async function watched<T>(read: Promise<T>, onUnread: () => void): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof StoreUnavailable) onUnread();
    throw error;
  }
}

async function* watchedBytes(bytes: AsyncIterable<Uint8Array>, onUnread: () => void): AsyncGenerator<Uint8Array> {
  const pieces = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await watched(pieces.next(), onUnread);
      if (done === true) return;
      yield value;
    }
  } finally {
    await pieces.return?.();
  }
}

/**
 * The bytes, as long as the submission is not over. A process that was suspended in the middle of one, and has lost its
 * lease meanwhile, must not complete it before its timers run.
 */
async function* whileOpen(isOver: () => boolean, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    if (isOver()) throw new Error('The time of the submission is over.');
    yield piece;
  }
  if (isOver()) throw new Error('The time of the submission is over.');
}
