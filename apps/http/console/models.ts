import { assert } from '../../../core/assert.js';
import type { ModelExample } from '../../../core/catalog/model.js';
import type { Call, Files, Machine, Models, Work } from '../../../core/context.js';
import type { Generation } from '../../../core/generation/generation.js';
import { viewGeneration } from '../../../core/generation/read-generations.js';
import type { JsonObject } from '../../../core/json.js';
import { renderModel } from '../render/catalog.js';
import { renderOutput } from '../render/generation.js';
import { type ConsoleOperation, get } from './console-operation.js';
import { renderThumbnailPaths } from './generations.js';

/** The models as the page shows them. */
export const MODEL_OPERATIONS: readonly ConsoleOperation<Models & Work & Files & Machine & Call>[] = [
  /**
   * Each model of the API, with what the objects of the contract have no fields for. `usual_ms` is the median time to a
   * result in the last 24 hours, of all accounts; null after fewer than three results. `sample` is the first output of the
   * account's newest generation of the model, of those among its newest generations, with its thumbnails where it has some;
   * null if there is none.
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
        sample: samples.get(model.modelKey) ?? null,
      })),
    };
  }),
];

function renderExample({ title, prompt, parameters }: ModelExample): JsonObject {
  return { title: title ?? null, prompt: prompt ?? null, parameters: parameters ?? {} };
}

/** How many generations are looked at for samples. */
const MAX_LOOKED_AT = 100;

/** An output of the newest generation of each model that has one, among the newest generations of the account. */
async function newestSamples(
  context: Work & Files & Machine & Call,
  accountId: string,
): Promise<ReadonlyMap<string, object>> {
  const { items } = await context.generations.list(
    { of: 'account', accountId },
    { limit: MAX_LOOKED_AT },
    context.call,
  );
  const newest = new Map<string, Generation>();
  for (const generation of items) {
    const { modelKey, status, outputs, outputsRemovedAt, deletedAt } = generation;
    if (status !== 'succeeded' || outputs.length === 0) continue;
    if (outputsRemovedAt !== undefined || deletedAt !== undefined || newest.has(modelKey)) continue;
    newest.set(modelKey, generation);
  }
  return new Map(
    await Promise.all(
      [...newest].map(async ([key, generation]) => [key, await renderSample(context, generation)] as const),
    ),
  );
}

async function renderSample(context: Files & Machine, generation: Generation): Promise<object> {
  const { outputs } = await viewGeneration(context, generation);
  const [first] = outputs;
  assert(first !== undefined, 'a sample has an output');
  const thumbnails = renderThumbnailPaths(context, generation).find(({ media_id: id }) => id === first.output.mediaId);
  return { output: renderOutput(first), thumbnails: thumbnails ?? null };
}
