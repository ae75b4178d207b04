import { cancelGeneration as cancel } from '../../../../core/generation/cancel-generation.js';
import { TASK_SCHEMA } from '../../render/generation-task.js';
import { GENERATION_ID, inputOf, readArguments } from '../arguments.js';
import { taskResult } from '../task-result.js';
import type { Tool } from '../tool.js';

const INPUT = inputOf({ generation_id: GENERATION_ID }, ['generation_id']);

export const cancelGeneration: Tool = {
  name: 'cancel_generation',
  title: 'Cancel a generation',
  description:
    'Cancels a generation. A queued one ends at once and costs nothing; a running one is asked to stop; one that has ended does not change.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: INPUT,
  output: TASK_SCHEMA,
  scopes: () => ['generations:write'],
  rate: 'writes',
  async answer(call) {
    const { generation_id: id } = readArguments<{ generation_id: string }>(call, INPUT);
    return taskResult(call.context, await cancel(call.context, call.caller, id));
  },
};
