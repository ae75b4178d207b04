import { estimateGeneration } from '../../../../core/generation/estimate-generation.js';
import { GENERATION_REQUEST_SCHEMA } from '../../../../core/generation/request.js';
import { EXAMPLE_REQUEST } from '../openapi/example-request.js';
import type { ProtectedOperation } from '../operation.js';
import { ESTIMATE_SCHEMA, renderEstimate } from '../../render/estimate.js';

export const estimateGenerationOperation: ProtectedOperation = {
  operationId: 'estimateGeneration',
  summary: 'Estimate the cost of a generation',
  description: 'Takes the body of create and stores nothing. The price is not guaranteed.',
  status: 200,
  data: ESTIMATE_SCHEMA,
  body: {
    schema: GENERATION_REQUEST_SCHEMA,
    schemaName: 'GenerationRequest',
    required: true,
    example: EXAMPLE_REQUEST,
  },
  errors: ['FIELD_REQUIRED', 'FIELD_INVALID', 'CREDITS_INSUFFICIENT'],
  answer: async ({ context, caller, body }) => ({
    data: renderEstimate(await estimateGeneration(context, caller, body)),
  }),
};
