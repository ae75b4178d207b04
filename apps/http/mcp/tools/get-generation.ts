import { waitForGeneration } from '../../../../core/generation/wait-for-generation.js';
import { TASK_SCHEMA } from '../../render/generation-task.js';
import { GENERATION_ID, inputOf, readArguments, WAIT_SECONDS, waitMsOf } from '../arguments.js';
import { taskResult } from '../task-result.js';
import type { Tool } from '../tool.js';

const INPUT = inputOf({ generation_id: GENERATION_ID, wait_seconds: WAIT_SECONDS }, ['generation_id']);

export const getGeneration: Tool = {
  name: 'get_generation',
  title: 'Get a generation',
  description:
    'Waits for a generation to end and shows it with previews and links to the full files. Call it again while the status is queued or running; do not generate again.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: INPUT,
  output: TASK_SCHEMA,
  scopes: () => ['generations:read'],
  rate: 'reads',
  async answer(call) {
    const { context, caller, waits, progress, requireAllowed } = call;
    const args = readArguments<{ generation_id: string; wait_seconds?: number }>(call, INPUT);
    const waitMs = waitMsOf(args.wait_seconds);
    const generation = await waitForGeneration(context, caller, args.generation_id, {
      waitMs,
      until: waits,
      onLook: ({ status }) => progress.report(status),
    });
    if (waitMs > 0) await requireAllowed();
    return taskResult(context, generation);
  },
};
