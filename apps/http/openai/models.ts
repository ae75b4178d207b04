import type { Model } from '../../../core/catalog/model.js';
import { sendJson } from './answer.js';
import { modelNamed } from './fields.js';
import type { Endpoint } from './operation.js';

/** Clients sort by it, and a catalog has no such time: a day before this API existed, in seconds. */
const CREATED = 1_767_225_600;

export const MODEL_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/models',
    rate: 'reads',
    async serve(ctx) {
      const { catalog } = ctx.state.parts.context;
      await sendJson(ctx, 200, { object: 'list', data: catalog.models().map(render) });
    },
  },
  {
    method: 'GET',
    path: '/models/{*model}',
    rate: 'reads',
    async serve(ctx) {
      const { model } = ctx.params;
      await sendJson(ctx, 200, render(modelNamed(ctx.state.parts.context, model ?? '')));
    },
  },
];

function render({ modelKey }: Model): object {
  return { id: modelKey, object: 'model', created: CREATED, owned_by: 'darkroom' };
}
