import type { Context } from '../../../../core/context.js';
import type { PublicOperation } from '../operation.js';
import { CATALOG_SCHEMA, renderCatalog } from '../../render/catalog.js';
import { answerOnce } from './rendered-catalog.js';

export const listModelsOperation: PublicOperation = {
  operationId: 'listModels',
  summary: 'List the models',
  description: 'Public. Use the exact model_key, operations and input_schema values from here.',
  status: 200,
  data: CATALOG_SCHEMA,
  errors: [],
  async answer({ catalog, digests }: Context) {
    const models = catalog.models();
    return answerOnce(models, () => renderCatalog(models), digests);
  },
};
