import type { Balance } from '../../../core/credits/get-balance.js';
import type { TitledSchema } from './titled-schema.js';
import { CREDITS } from './schema-parts.js';

export const BALANCE_SCHEMA: TitledSchema = {
  title: 'Balance',
  type: 'object',
  required: ['mode', 'balance_credits', 'available_credits', 'remaining_credits', 'currency'],
  properties: {
    mode: { type: 'string', enum: ['formal'] },
    balance_credits: CREDITS,
    available_credits: { ...CREDITS, description: 'Currently equal to balance_credits.' },
    remaining_credits: { ...CREDITS, description: 'Currently equal to balance_credits.' },
    currency: { type: 'string', description: "The account's unit of credits. No cash value follows from it." },
  },
};

export function renderBalance({ availableCredits, currency }: Balance): object {
  return {
    mode: 'formal',
    balance_credits: availableCredits,
    available_credits: availableCredits,
    remaining_credits: availableCredits,
    currency,
  };
}
