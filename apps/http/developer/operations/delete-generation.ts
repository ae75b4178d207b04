import { deleteGeneration } from '../../../../core/generation/delete-generation.js';
import { UUID } from '../../render/schema-parts.js';
import type { ProtectedOperation } from '../operation.js';

export const deleteGenerationOperation: ProtectedOperation = {
  operationId: 'deleteGeneration',
  summary: 'Delete a generation',
  description:
    'Only one that has ended. Its prompt, its parameters and its outputs are removed, and the id answers GENERATION_JOB_NOT_FOUND from then on. What it was charged stays charged, and in the ledger.',
  status: 200,
  data: {
    title: 'DeletedGeneration',
    type: 'object',
    required: ['generation_id'],
    properties: { generation_id: UUID },
  },
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND', 'CONFLICT'],
  async answer({ context, caller, params }) {
    const id = params['generation_id'] ?? '';
    await deleteGeneration(context, caller, id);
    return { data: { generation_id: id.toLowerCase() } };
  },
};
