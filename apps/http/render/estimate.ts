import type { Estimate } from '../../../core/generation/estimate-generation.js';
import type { TitledSchema } from './titled-schema.js';
import { CREDITS, OPERATION } from './schema-parts.js';

export const ESTIMATE_SCHEMA: TitledSchema = {
  title: 'Estimate',
  type: 'object',
  required: ['model_key', 'operation', 'estimated_credits', 'currency'],
  properties: {
    model_key: { type: 'string' },
    operation: OPERATION,
    estimated_credits: CREDITS,
    currency: { type: 'string' },
  },
};

export function renderEstimate(estimate: Estimate): object {
  return {
    model_key: estimate.modelKey,
    operation: estimate.operation,
    estimated_credits: estimate.estimatedCredits,
    currency: estimate.currency,
  };
}
