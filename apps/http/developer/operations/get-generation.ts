import { NO_WAIT, waitForGeneration } from '../../../../core/generation/wait-for-generation.js';
import { viewGeneration } from '../../../../core/generation/view.js';
import { progressHeader } from '../progress-header.js';
import type { ProtectedOperation } from '../operation.js';
import { TASK_SCHEMA, taskText } from '../../render/generation-task.js';

export const getGenerationOperation: ProtectedOperation = {
  operationId: 'getGeneration',
  summary: 'Get the status of a generation',
  status: 200,
  data: TASK_SCHEMA,
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  canWait: true,
  async answer({ context, caller, params, wait = NO_WAIT }) {
    const generation = await waitForGeneration(context, caller, params['generation_id'] ?? '', wait);
    return {
      data: { text: taskText(await viewGeneration(context, generation)) },
      headers: await progressHeader(context, generation, wait),
    };
  },
};
