import { cancelGeneration } from '../../../../core/generation/cancel-generation.js';
import { viewGeneration } from '../../../../core/generation/view.js';
import type { ProtectedOperation } from '../operation.js';
import { renderTask, TASK_SCHEMA } from '../render/generation-task.js';

export const cancelGenerationOperation: ProtectedOperation = {
  operationId: 'cancelGeneration',
  summary: 'Ask for the end of a generation',
  description:
    'A queued one ends at once and costs nothing; a running one is asked to stop; one that has ended stays as it is.',
  status: 200,
  data: TASK_SCHEMA,
  errors: ['TASK_NOT_FOUND'],
  async answer({ context, caller, params }) {
    const generation = await cancelGeneration(context, caller, params['generation_id'] ?? '');
    return { data: renderTask(await viewGeneration(context, generation)) };
  },
};
