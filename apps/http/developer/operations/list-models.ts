import type { Context } from '../../../../core/context.js';
import type { Model } from '../../../../core/catalog/model.js';
import type { PublicOperation } from '../operation.js';
import { CATALOG_SCHEMA, renderCatalog } from '../../render/catalog.js';

interface Rendered {
  readonly text: string;
  readonly etag: string;
}

/** A catalog snapshot never changes, so it is rendered once. */
const rendered = new WeakMap<readonly Model[], Rendered>();

export const listModelsOperation: PublicOperation = {
  operationId: 'listModels',
  summary: 'List the models',
  description: 'Public. Use the exact model_key, operations and input_schema values from here.',
  status: 200,
  data: CATALOG_SCHEMA,
  errors: [],
  async answer({ catalog, digests }: Context) {
    const { text, etag } = renderedOnce(catalog.models(), digests);
    return { data: { text }, headers: { 'ETag': etag, 'Cache-Control': 'no-cache' } };
  },
};

function renderedOnce(models: readonly Model[], digests: Context['digests']): Rendered {
  let found = rendered.get(models);
  if (!found) {
    const data = renderCatalog(models);
    // Weak, because the envelope around the data differs with every request.
    found = { text: JSON.stringify(data), etag: `W/"${digests.ofJson(data).slice(0, 32)}"` };
    rendered.set(models, found);
  }
  return found;
}
