import type { Model } from '../../catalog/model.js';
import type { Context } from '../../context.js';
import type { Submission } from '../../ports/provider.js';
import type { Attempt, Generation } from '../generation.js';

/** What the provider is handed for one attempt. It sees the task, never whose it is. */
export function submissionOf(
  context: Pick<Context, 'objects'>,
  g: Generation,
  model: Model,
  attempt: Pick<Attempt, 'number' | 'token'>,
  timeLeftMs: number,
): Submission {
  return {
    generationId: g.generationId,
    attempt: attempt.number,
    modelKey: g.modelKey,
    operation: g.operation,
    prompt: g.prompt,
    ...(g.negativePrompt === undefined ? {} : { negativePrompt: g.negativePrompt }),
    parameters: g.parameters,
    references: g.references.map(({ role, mediaType, byteSize, objectKey, uploadId }) => ({
      role,
      mediaType,
      byteSize,
      open: async () => {
        const bytes = await context.objects.read(objectKey);
        if (!bytes) throw new Error(`The bytes of upload ${uploadId} are gone.`);
        return bytes;
      },
    })),
    settings: model.providerSettings,
    token: attempt.token,
    outputCount: g.terms.creditsByOutputs.length - 1,
    timeLeftMs,
  };
}
