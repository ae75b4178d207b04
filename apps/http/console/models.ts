import type { Model, ModelExample } from '../../../core/catalog/model.js';
import type { Models } from '../../../core/context.js';
import type { JsonObject } from '../../../core/json.js';
import { renderModel } from '../render/catalog.js';
import { type ConsoleOperation, get } from './console-operation.js';

/** The models as the page shows them. */
export const MODEL_OPERATIONS: readonly ConsoleOperation<Models>[] = [
  /** Each model of the API, with what the objects of the contract have no fields for. */
  get('/models', ({ context }) => Promise.resolve({ models: context.catalog.models().map(renderForPage) })),
];

function renderForPage(model: Model): JsonObject {
  const { examples = [], isTest } = model;
  return { ...renderModel(model), examples: examples.map(renderExample), is_test: isTest === true };
}

function renderExample({ title, prompt, parameters }: ModelExample): JsonObject {
  return { title: title ?? null, prompt: prompt ?? null, parameters: parameters ?? {} };
}
