import { cancelGeneration } from '../../../../core/generation/cancel-generation.js';
import { viewGeneration } from '../../../../core/generation/view.js';
import type { ProtectedOperation } from '../operation.js';
import { renderTask, TASK_SCHEMA } from '../../render/generation-task.js';

export const cancelGenerationOperation: ProtectedOperation = {
  operationId: 'cancelGeneration',
  summary: 'Cancel a generation',
  description:
    'A queued generation ends at once and costs nothing. A running generation is asked to stop. A generation that has ended does not change.',
  status: 200,
  data: TASK_SCHEMA,
  errors: ['TASK_NOT_FOUND'],
  async answer({ context, caller, params }) {
    const generation = await cancelGeneration(context, caller, params['generation_id'] ?? '');
    return { data: renderTask(await viewGeneration(context, generation)) };
  },
};
