import { inspectedJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

/** What its client asked for, which is theirs. */
export const getContent: OperatorOperation = {
  method: 'GET',
  path: '/generations/:generation_id/content',
  act: 'read the content of a generation',
  readsContent: true,
  async answer(_parts, { ctx, operator, act }) {
    const generation = await operator.inspectGeneration(ctx.params['generation_id'] ?? '');
    act.note({ accountId: generation.accountId });
    const { prompt, negative_prompt, parameters, reference_upload_ids } = inspectedJson(generation);
    return { prompt, negative_prompt, parameters, reference_upload_ids };
  },
};
