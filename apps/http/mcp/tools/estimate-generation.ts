import { estimateGeneration as estimate } from '../../../../core/generation/estimate-generation.js';
import { GENERATION_REQUEST_SCHEMA } from '../../../../core/generation/request.js';
import { ESTIMATE_SCHEMA, renderEstimate } from '../../render/estimate.js';
import type { Tool } from '../tool.js';
import { dataResult } from '../tool-results.js';

export const estimateGeneration: Tool = {
  name: 'estimate_generation',
  title: 'Estimate the cost of a generation',
  description: 'Tells how many credits a generation would reserve at most. Reserves and stores nothing.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: GENERATION_REQUEST_SCHEMA,
  output: ESTIMATE_SCHEMA,
  scopes: () => ['generations:write'],
  rate: 'reads',
  answer: async ({ context, caller, args }) => dataResult(renderEstimate(await estimate(context, caller, args))),
};
