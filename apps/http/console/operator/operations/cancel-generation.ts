import { generationJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

/** As its client could. */
export const cancelGeneration: OperatorOperation = {
  method: 'POST',
  path: '/generations/:generation_id/cancel',
  act: 'cancel a generation',
  async answer(_parts, { ctx, operator, act }) {
    const generation = await operator.cancelGeneration(ctx.params['generation_id'] ?? '');
    act.note({ accountId: generation.accountId, status: generation.status });
    return { generation: generationJson(generation) };
  },
};
