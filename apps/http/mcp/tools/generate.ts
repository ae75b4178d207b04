import { isTerminal, type Operation } from '../../../../core/generation/generation.js';
import { GENERATION_REQUEST_SCHEMA, requestWording } from '../../../../core/generation/request.js';
import { waitForGeneration } from '../../../../core/generation/wait-for-generation.js';
import { TASK_SCHEMA } from '../../render/generation-task.js';
import {
  IDEMPOTENCY_KEY,
  inputOf,
  readArguments,
  takeIdempotencyKey,
  WAIT_SECONDS,
  waitMsOf,
  withoutOwn,
} from '../arguments.js';
import { createConfirmed } from '../create-confirmed.js';
import { keepPictures, REFERENCE_PICTURES, type ReferencePicture } from '../reference-pictures.js';
import { taskResult } from '../task-result.js';
import { taskHandle } from '../tasks.js';
import type { Tool, ToolAnswer, ToolCall } from '../tool.js';

const { operation: _fixed, ...FIELDS } = GENERATION_REQUEST_SCHEMA.properties;
const OWN = ['idempotency_key', 'wait_seconds', 'reference_pictures'];

const INPUT = inputOf(
  {
    ...FIELDS,
    reference_pictures: REFERENCE_PICTURES,
    idempotency_key: IDEMPOTENCY_KEY,
    wait_seconds: WAIT_SECONDS,
  },
  ['model_key', 'prompt', 'idempotency_key'],
);

interface Arguments {
  readonly reference_pictures?: readonly ReferencePicture[];
  readonly reference_upload_ids?: readonly string[];
  readonly wait_seconds?: number;
}

/** The two tools that generate differ in their words and in their operation. */
export function generateTool(operation: Operation, words: Pick<Tool, 'name' | 'title' | 'description'>): Tool {
  return {
    ...words,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    input: INPUT,
    output: TASK_SCHEMA,
    scopes: ({ reference_pictures: pictures }) =>
      Array.isArray(pictures) && pictures.length > 0 ? ['generations:write', 'uploads:write'] : ['generations:write'],
    rate: 'writes',
    answer: (call) => generate(call, operation),
  };
}

/** Whoever started a generation is told how it goes, also without the scope to read others. */
async function generate(call: ToolCall, operation: Operation): Promise<ToolAnswer> {
  const { context, caller, waits, progress, requireAllowed } = call;
  const idempotencyKey = takeIdempotencyKey(call.args);
  const args = readArguments<Arguments>(call, INPUT, requestWording(context, call.args));
  const kept = await keepPictures(call, idempotencyKey, args.reference_pictures ?? []);
  const ids = [...(args.reference_upload_ids ?? []), ...kept];
  const body = {
    ...withoutOwn(args, OWN),
    operation,
    ...(ids.length === 0 ? {} : { reference_upload_ids: ids }),
  };
  const created = await createConfirmed(call, { idempotencyKey, body });
  if ('ask' in created) return created.ask;
  const { generationId, status: atFirst } = created.generation;
  if (!created.replayed) call.created(generationId);
  if (call.takesTasks && !isTerminal(atFirst)) return taskHandle(context, created.generation);
  const waitMs = waitMsOf(args.wait_seconds);
  const generation = await waitForGeneration(context, caller, generationId, {
    waitMs,
    until: waits,
    onLook: ({ status }) => progress.report(status),
  });
  if (waitMs > 0) await requireAllowed();
  return taskResult(context, generation);
}
