import type { DeliveryState } from './delivery.js';

export type DeliveryCommandName = 'announce' | 'begin' | 'end-attempt' | 'disable' | 'cancel' | 'replay' | 'postpone';

/**
 * Which commands each state allows, and where they may lead. A command that is missing is refused as NOT_ALLOWED. What is
 * cancelled stays so: there is nothing left to tell, or nobody to tell it to.
 */
export const DELIVERY_TRANSITIONS: Readonly<
  Record<DeliveryState, Readonly<Partial<Record<DeliveryCommandName, readonly DeliveryState[]>>>>
> = {
  pending: {
    'announce': ['pending', 'disabled'],
    'begin': ['pending'],
    'end-attempt': ['pending', 'retrying', 'delivered', 'exhausted', 'disabled'],
    'disable': ['disabled'],
    'cancel': ['cancelled'],
    'replay': ['pending'],
    'postpone': ['pending'],
  },
  retrying: {
    'announce': ['pending', 'disabled'],
    'begin': ['retrying'],
    'end-attempt': ['retrying', 'delivered', 'exhausted', 'disabled'],
    'disable': ['disabled'],
    'cancel': ['cancelled'],
    'replay': ['pending'],
    'postpone': ['retrying'],
  },
  delivered: { announce: ['pending', 'disabled'], replay: ['pending'] },
  exhausted: { announce: ['pending', 'disabled'], replay: ['pending'] },
  disabled: {
    'announce': ['pending', 'disabled'],
    'end-attempt': ['disabled', 'delivered'],
    'replay': ['pending'],
  },
  cancelled: {},
};
