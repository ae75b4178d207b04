import { imagesOf } from '../fixtures/scripted-provider.js';
import type { Style, Wanted } from './steps.js';

const CREDITS_AN_IMAGE = 10;

export const priceOf = ({ count }: Wanted): number => CREDITS_AN_IMAGE * count;

/** What one that is not cancelled costs. */
export const chargeOf = (wanted: Wanted): number => CREDITS_AN_IMAGE * deliveredOf(wanted);

function deliveredOf({ count, style }: Wanted): number {
  if (style === 'good') return count;
  return style === 'partial' ? Math.max(1, count - 1) : 0;
}

/** What the provider is to say of a task. */
export function reportOf(style: Style, count: number) {
  if (style === 'never') return { state: 'running' as const };
  if (style === 'fails')
    return {
      state: 'failed' as const,
      failure: { code: 'PROVIDER_REJECTED' as const, message: 'As it was told.', mayRetry: false },
    };
  return { state: 'succeeded' as const, outputs: imagesOf(deliveredOf({ count, style })) };
}
