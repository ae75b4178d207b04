import { generationJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

/** A generation of any account, without its request. */
export const getGeneration: OperatorOperation = {
  method: 'GET',
  path: '/generations/:generation_id',
  act: 'read a generation',
  async answer({ context }, { ctx, operator }) {
    const generation = await operator.inspectGeneration(ctx.params['generation_id'] ?? '');
    return { now: new Date(context.clock.now()).toISOString(), generation: generationJson(generation) };
  },
};
