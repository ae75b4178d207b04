import { derivedUuid } from '../ids.js';
import type { Json } from '../json.js';
import type { SentEvent } from './endpoint.js';

export const DELIVERY_STATES = ['pending', 'retrying', 'delivered', 'exhausted', 'disabled', 'cancelled'] as const;
/**
 * `pending`: not yet tried. `retrying`: tried, and to be tried again. `exhausted`: tried as often as it may be.
 * `disabled`: its endpoint was disabled. `cancelled`: its generation was deleted, or its endpoint.
 */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The result of an attempt. `unknown`: the process that made it ended first. */
export const ATTEMPT_RESULTS = ['delivered', 'failed', 'unknown'] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

/** Why there was no answer that counts. `address`: it must not be called. `answer`: what came is not HTTP. */
export const ATTEMPT_FAULTS = ['address', 'connection', 'timeout', 'answer'] as const;
export type AttemptFault = (typeof ATTEMPT_FAULTS)[number];

/** The body of an answer, as far as it is kept. */
export interface AnswerBody {
  /** How many bytes were read of it, at least 1 and at most 64 KiB. */
  readonly bytes: number;
  /**
   * The first `KEPT_BODY_BYTES` bytes as text, without control characters other than tabs and ends of lines. Absent for
   * binary content.
   */
  readonly text?: string;
}

/** How much of the body of an answer is kept. */
export const KEPT_BODY_BYTES = 1_024;

export interface DeliveryAttempt {
  readonly event: SentEvent;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly result: AttemptResult;
  /** The status of the answer, if there was one. */
  readonly status?: number;
  readonly fault?: AttemptFault;
  /** Absent where there was none, or it was not of the public internet. */
  readonly body?: AnswerBody;
}

/** The time one process may send the message. */
export interface SendingLease {
  /** Names the attempt. */
  readonly token: string;
  readonly event: SentEvent;
  readonly startedAt: number;
  readonly expiresAt: number;
  /** A replay was requested in the meantime: the message is sent again afterwards. */
  readonly isReplayed?: true;
}

/**
 * The delivery of one generation to one destination. It carries the newest event, so that an older one is never sent
 * after it. All times are milliseconds since the epoch.
 */
export interface Delivery {
  readonly deliveryId: string;
  readonly accountId: string;
  readonly appId: string;
  readonly endpointId: string;
  readonly generationId: string;
  /** The address that the generation was created with; that of the endpoint when absent. */
  readonly url?: string;
  /** Grows by one with every change; a change applies only onto the version it was decided on. */
  readonly version: number;
  readonly state: DeliveryState;
  readonly event: SentEvent;
  /** When the event happened. */
  readonly occurredAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Attempts made for this event since it was announced or replayed. */
  readonly attemptsMade: number;
  /** Set while the delivery is open. */
  readonly nextAttemptAt?: number;
  readonly lease?: SendingLease;
  /** The last ones, of all events, the oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
  /** When recovery should examine it: to wake it while it is open, and to remove it afterwards. */
  readonly dueAt: number;
}

/** The lists of deliveries, each with an index on the field that is named here; the shortest list first. */
export const DELIVERY_LISTS = {
  generation: 'generationId',
  endpoint: 'endpointId',
  app: 'appId',
  account: 'accountId',
} as const satisfies Readonly<Record<string, keyof Delivery>>;
export type DeliveryList = keyof typeof DELIVERY_LISTS;

export function isOpen({ state }: Pick<Delivery, 'state'>): boolean {
  return state === 'pending' || state === 'retrying';
}

interface JsonDigests {
  readonly digests: { ofJson(value: Json): string };
}

/** One for each destination and generation, so that a step that is done twice finds what it has made. */
export function deliveryIdOf({ digests }: JsonDigests, endpointId: string, generationId: string): string {
  return derivedUuid(digests.ofJson(['delivery', endpointId, generationId]));
}

/** Names a message to its receiver: the same in each attempt, another one for each event. */
export function messageIdOf({ digests }: JsonDigests, { deliveryId, event }: Delivery): string {
  return `msg_${derivedUuid(digests.ofJson(['message', deliveryId, event]))}`;
}

export type DeliveryCommandName = 'announce' | 'begin' | 'end-attempt' | 'disable' | 'cancel' | 'replay' | 'postpone';

/**
 * The commands that each state allows, and the states they may lead to. A command that is missing is refused as
 * NOT_ALLOWED. A cancelled delivery stays cancelled: there is nothing left to send, or nobody to send it to.
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
