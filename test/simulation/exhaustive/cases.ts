import type { ErrorCode } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';

export type Request =
  | { readonly operation: 'create'; readonly key: string; readonly body: JsonObject }
  /** Of the generation this key was answered with, as soon as it was. */
  | { readonly operation: 'cancel'; readonly key: string };

/** What one run of the small service begins with. */
export interface Case {
  readonly name: string;
  readonly credits: number;
  /** Of the first REST process and of the second. The first is sent at once: before it there is nothing to see. */
  readonly requests: readonly [Request, Request];
  /** How many keys are answered with a generation when nothing goes wrong and no time passes. */
  readonly accepted: number;
  /** What a create may be refused with when nothing goes wrong. */
  readonly refusals: readonly ErrorCode[];
  /** Whether claim, hold and generation are one write. */
  readonly oneStep: boolean;
}

/**
 * 10 credits an image. The trace id tells which key a generation came to be under; core itself does not record that.
 */
function create(key: string, count = 1): Request {
  const body = {
    model_key: 'plain-image',
    operation: 'image_generation',
    prompt: 'A house by the sea',
    parameters: { count },
    client_trace_id: key,
  };
  return { operation: 'create', key, body };
}

const BY_STEPS: readonly Omit<Case, 'oneStep'>[] = [
  {
    name: 'twins',
    credits: 100,
    requests: [create('k'), create('k')],
    accepted: 1,
    refusals: ['IDEMPOTENCY_IN_PROGRESS'],
  },
  // Enough for one hold: whoever holds under an id that was ruled out keeps its successor from being accepted, for a
  // while.
  {
    name: 'poor twins',
    credits: 10,
    requests: [create('k'), create('k')],
    accepted: 1,
    refusals: ['IDEMPOTENCY_IN_PROGRESS'],
  },
  {
    name: 'two bodies',
    credits: 100,
    requests: [create('k'), create('k', 2)],
    accepted: 1,
    refusals: ['IDEMPOTENCY_PAYLOAD_MISMATCH'],
  },
  {
    name: 'cancel',
    credits: 100,
    requests: [create('k'), { operation: 'cancel', key: 'k' }],
    accepted: 1,
    refusals: [],
  },
  {
    name: 'two keys',
    credits: 15,
    requests: [create('k'), create('l')],
    accepted: 1,
    refusals: ['CREDITS_INSUFFICIENT'],
  },
];

/** Each on stores that accept by one write after the other, and on stores that accept in one step. */
export const CASES: readonly Case[] = [
  ...BY_STEPS.map((one) => ({ ...one, oneStep: false })),
  ...BY_STEPS.map((one) => ({ ...one, name: `${one.name} in one step`, oneStep: true })),
];

/** How much may go wrong in one run, and how long it may get. Everything is counted over all processes together. */
export interface Bounds {
  /** The most choices in a row. */
  readonly depth: number;
  readonly crashes: number;
  /** Calls that end with `StoreUnavailable`, whether or not they took effect. */
  readonly lost: number;
  /** How often time moves on past every lease. */
  readonly leaps: number;
  /** Requests that clients send again. */
  readonly retries: number;
  /** Recovery passes of the worker. */
  readonly recoveries: number;
  /** How often the worker's wake-ups are delivered. */
  readonly wakes: number;
}

export const DEFAULT_BOUNDS: Bounds = { depth: 14, crashes: 1, lost: 0, leaps: 1, retries: 0, recoveries: 1, wakes: 1 };

export type Spent = { -readonly [K in Exclude<keyof Bounds, 'depth'>]: number };

export function nothingSpent(): Spent {
  return { crashes: 0, lost: 0, leaps: 0, retries: 0, recoveries: 0, wakes: 0 };
}
