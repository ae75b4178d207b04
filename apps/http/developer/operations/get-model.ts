import { getModel } from '../../../../core/catalog/get-model.js';
import { MODEL_SCHEMA, renderModel } from '../../render/catalog.js';
import type { PublicOperation } from '../operation.js';
import { answerOnce } from './rendered-catalog.js';

export const getModelOperation: PublicOperation = {
  operationId: 'getModel',
  summary: 'Get one model',
  description: 'Public. The model as it is in the list.',
  status: 200,
  data: MODEL_SCHEMA,
  errors: ['NOT_FOUND'],
  async answer({ catalog, digests }, params) {
    const model = getModel({ catalog }, params['model_key'] ?? '');
    return answerOnce(model, () => renderModel(model), digests);
  },
};
