import type { ModelExample } from '../../../core/catalog/model.js';
import type { Call, Machine, Models, Work } from '../../../core/context.js';
import type { Generation } from '../../../core/generation/generation.js';
import { thumbnailsOf } from '../../../core/generation/thumbnails.js';
import type { JsonObject } from '../../../core/json.js';
import { renderModel } from '../render/catalog.js';
import { type ConsoleOperation, get } from './console-operation.js';

/** The models as the page shows them. */
export const MODEL_OPERATIONS: readonly ConsoleOperation<Models & Work & Machine & Call>[] = [
  /**
   * Each model of the API, with what the objects of the contract have no fields for. `usual_ms` is the median time to a
   * result in the last 24 hours, of all accounts; null after fewer than three results. `sample` is the first output of the
   * account's newest generation of the model, of those among its newest generations; null if there is none. Its addresses are
   * paths, because the page may be open under another name of this computer.
   */
  get('/models', async ({ context }, { signedIn: { person } }) => {
    const [usual, samples] = await Promise.all([
      context.outcomeCounts.usualTimes(),
      newestSamples(context, person.accountId),
    ]);
    return {
      models: context.catalog.models().map((model) => ({
        ...renderModel(model),
        prompt_rule: model.promptRule,
        max_prompt_characters: model.maxPromptCharacters,
        examples: (model.examples ?? []).map(renderExample),
        is_test: model.isTest === true,
        usual_ms: usual.get(model.modelKey) ?? null,
        sample: renderSample(context, samples.get(model.modelKey)),
      })),
    };
  }),
];

function renderExample({ title, prompt, parameters }: ModelExample): JsonObject {
  return { title: title ?? null, prompt: prompt ?? null, parameters: parameters ?? {} };
}

/** How many generations are looked at for samples. */
const MAX_LOOKED_AT = 100;

/** The newest generation of each model with an output that has thumbnails, among the newest of the account. */
async function newestSamples(
  context: Work & Machine & Call,
  accountId: string,
): Promise<ReadonlyMap<string, Generation>> {
  const { items } = await context.generations.list(
    { of: 'account', accountId },
    { limit: MAX_LOOKED_AT },
    context.call,
  );
  const samples = new Map<string, Generation>();
  for (const generation of items) {
    if (samples.has(generation.modelKey) || generation.status !== 'succeeded') continue;
    if (thumbnailsOf(context, generation).length > 0) samples.set(generation.modelKey, generation);
  }
  return samples;
}

function renderSample(context: Machine, generation: Generation | undefined): JsonObject | null {
  if (generation === undefined) return null;
  const [thumbnails] = thumbnailsOf(context, generation);
  const output = generation.outputs.find(({ mediaId }) => mediaId === thumbnails?.mediaId);
  if (thumbnails === undefined || output === undefined) return null;
  return {
    generation_id: generation.generationId,
    media_id: output.mediaId,
    width: output.widthPx,
    height: output.heightPx,
    thumbnails: thumbnails.urls,
  };
}
