import { getGeneration } from '../../../../core/generation/get-generation.js';
import { viewGeneration } from '../../../../core/generation/view.js';
import type { ProtectedOperation } from '../operation.js';
import { renderTask, TASK_SCHEMA } from '../../render/generation-task.js';

export const getGenerationOperation: ProtectedOperation = {
  operationId: 'getGeneration',
  summary: 'Get the status of a generation',
  status: 200,
  data: TASK_SCHEMA,
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  async answer({ context, caller, params }) {
    const generation = await getGeneration(context, caller, params['generation_id'] ?? '');
    return { data: renderTask(await viewGeneration(context, generation)) };
  },
};
