import type { ErrorCode } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';

export type Request =
  | { readonly operation: 'create'; readonly key: string; readonly body: JsonObject }
  /** Cancels the generation that this key was answered with, as soon as it was. */
  | { readonly operation: 'cancel'; readonly key: string };

/** The initial conditions of one run of the small service. */
export interface Case {
  readonly name: string;
  readonly credits: number;
  /**
   * Requests of the first and of the second REST process. The first is sent at once, because nothing happens before it.
   */
  readonly requests: readonly [Request, Request];
  /** How many keys are answered with a generation when nothing goes wrong and no time passes. */
  readonly accepted: number;
  /** The codes with which a create may be refused when nothing fails. */
  readonly refusals: readonly ErrorCode[];
  /** Whether claim, hold and generation are one write. */
  readonly oneStep: boolean;
}

/**
 * 10 credits per image. The trace id shows which key a generation was created under; core itself does not record that.
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
  // Enough for one hold: a process that holds under an id that was ruled out delays the acceptance of its successor.
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

/** Each on stores that accept by successive writes, and on stores that accept in one step. */
export const CASES: readonly Case[] = [
  ...BY_STEPS.map((one) => ({ ...one, oneStep: false })),
  ...BY_STEPS.map((one) => ({ ...one, name: `${one.name} in one step`, oneStep: true })),
];

/** How much may fail in one run, and how long it may get. Everything is counted over all processes together. */
export interface Bounds {
  /** The most successive choices. */
  readonly depth: number;
  readonly crashes: number;
  /** Calls that end with `StoreUnavailable`, whether or not they took effect. */
  readonly lost: number;
  /** How often time advances past every lease. */
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
