import { createGeneration } from '../../../../core/generation/create-generation.js';
import { waitForEnd } from '../../../../core/generation/wait-for-generation.js';
import { GENERATION_REQUEST_SCHEMA } from '../../../../core/generation/request.js';
import { viewGeneration } from '../../../../core/generation/view.js';
import { EXAMPLE_REQUEST } from '../openapi/example-request.js';
import { progressHeader } from '../progress-header.js';
import type { ProtectedOperation } from '../operation.js';
import { renderTask, TASK_SCHEMA } from '../../render/generation-task.js';

export const createGenerationOperation: ProtectedOperation = {
  operationId: 'createGeneration',
  summary: 'Create a generation',
  description:
    'Accepted is not finished: poll the address in Location until the status is succeeded, failed or cancelled.',
  status: 202,
  data: TASK_SCHEMA,
  body: {
    schema: GENERATION_REQUEST_SCHEMA,
    schemaName: 'GenerationRequest',
    required: true,
    example: EXAMPLE_REQUEST,
  },
  errors: [
    'FIELD_REQUIRED',
    'FIELD_INVALID',
    'IDEMPOTENCY_PAYLOAD_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'IDEMPOTENCY_REPLAY_EXPIRED',
    'QUEUE_FULL',
    'CREDITS_INSUFFICIENT',
    'CONFLICT',
  ],
  canWait: true,
  takesWebhookUrl: true,
  hasLocation: true,
  async answer({ context, caller, idempotencyKey, body, wait, webhookUrl }) {
    const { generation: created, replayed } = await createGeneration(context, caller, idempotencyKey, body, {
      webhookUrl,
    });
    const generation = wait === undefined ? created : await waitForEnd(context, created, wait);
    const Location = `/api/v1/developer/generations/${generation.generationId}`;
    return {
      data: renderTask(await viewGeneration(context, generation)),
      replayed,
      headers: { Location, ...(await progressHeader(context, generation, wait)) },
      ...(replayed ? {} : { createdId: generation.generationId }),
    };
  },
};
