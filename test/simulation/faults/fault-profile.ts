import type { Chance } from '../harness/scheduler.js';

/** The faults of a port call, with their odds in a thousand calls. */
export interface CallOdds {
  /** The process dies and the call never leaves it. */
  readonly crashBefore: number;
  /** The call does its work, and the process dies before the answer. */
  readonly crashAfter: number;
  /** The call never arrives; the caller gets an error that the store is unavailable. */
  readonly lostRequest: number;
  /** The call does its work; the caller gets an error that the store is unavailable. */
  readonly lostAnswer: number;
  /** The caller gets an error that the store is unavailable, and much later the call does its work after all. */
  readonly lateEffect: number;
  /** The call does its work, and the process sleeps for longer than any lease before the answer. */
  readonly sleepAfter: number;
  /** The call, or its answer, takes seconds. */
  readonly slow: number;
}

export type CallFault = keyof CallOdds;

/**
 * The kinds of fault in a seed, and their frequency. Most are rare in most seeds: faults that hide each other find
 * nothing.
 */
export interface FaultProfile {
  readonly odds: CallOdds;
  /** A few calls that are hit far more often than the others, each by one fault. */
  readonly focus: ReadonlyMap<string, CallFault>;
  readonly focusPerMille: number;
  /** The usual maximum of a call's latency, one way; and the longest delay of a slow call. */
  readonly latencyMs: number;
  readonly slowMs: number;
  /** Mean time between two external events that hit a process, a store or the provider; 0 is never. */
  readonly disturbanceEveryMs: number;
  readonly disturbances: readonly Disturbance[];
  readonly skewMs: number;
  /** A client's request, or the answer to it, is lost, duplicated or late. */
  readonly clientPerMille: number;
  /** A wake-up is lost, duplicated or late. */
  readonly wakeUpPerMille: number;
  /** How many in a thousand of a provider's answers are unfavourable. */
  readonly providerPerMille: number;
  /** An object is lost or truncated while it is written, copied or read. */
  readonly objectPerMille: number;
  /** A receiver of webhooks loses a message, fails or is slow. */
  readonly receiverPerMille: number;
  /** The longest pause of a client between two requests. */
  readonly thinkMs: number;
  /** Whether every output has to be cleaned a second time, and some are signed: each is stored under another key. */
  readonly cleansTwice: boolean;
}

export const DISTURBANCES = [
  'sleep',
  'kill',
  'stop',
  'set-clock',
  'lose-object',
  'store-away',
  'provider-away',
  'model-withdrawn',
] as const;
export type Disturbance = (typeof DISTURBANCES)[number];

const NO_CALL_FAULTS: CallOdds = {
  crashBefore: 0,
  crashAfter: 0,
  lostRequest: 0,
  lostAnswer: 0,
  lateEffect: 0,
  sleepAfter: 0,
  slow: 0,
};
export const CALL_FAULTS = Object.keys(NO_CALL_FAULTS) as readonly CallFault[];

/** The calls that matter most; each is hit by each fault in a long run. */
export const FAULTED_CALLS = [
  'accounts.read',
  'accounts.apply',
  'generations.insert',
  'generations.read',
  'generations.replace',
  'acceptances.accept',
  'claims.insert',
  'claims.read',
  'claims.replace',
  'claims.remove',
  'fingerprints.read',
  'fingerprints.replace',
  'fingerprints.readLease',
  'fingerprints.renewLease',
  'uploads.insert',
  'uploads.read',
  'uploads.replace',
  'objects.write',
  'objects.read',
  'objects.copy',
  'objects.remove',
  'objects.stat',
  'providerUses.replace',
  'webhookEndpoints.read',
  'deliveries.insert',
  'deliveries.read',
  'deliveries.replace',
  'usage.read',
  'usage.apply',
  'wakeUps.schedule',
  'provider.submit',
  'provider.poll',
  'provider.output',
  'provider.cancel',
  'provider.recover',
] as const;

export function drawFaultProfile(chance: Chance): FaultProfile {
  const odds = Object.fromEntries(
    CALL_FAULTS.map((fault) => [fault, chance.happens(450) ? chance.pick([2, 5, 10, 30]) : 0]),
  ) as unknown as CallOdds;
  const focus = new Map<string, CallFault>();
  for (let count = chance.pick([0, 0, 1, 2, 3]); count > 0; count -= 1)
    focus.set(chance.pick(FAULTED_CALLS), chance.pick(CALL_FAULTS));
  const sometimes = (values: readonly number[]) => (chance.happens(500) ? chance.pick(values) : 0);
  const profile = {
    odds,
    focus,
    focusPerMille: chance.pick([100, 250, 500]),
    latencyMs: chance.pick([1, 5, 20, 200]),
    slowMs: chance.pick([2_000, 12_000, 40_000]),
    disturbanceEveryMs: sometimes([5_000, 15_000, 60_000]),
    disturbances: DISTURBANCES.filter(() => chance.happens(600)),
    skewMs: chance.pick([0, 0, 50, 2_000, 25_000]),
    clientPerMille: sometimes([20, 60, 150]),
    wakeUpPerMille: sometimes([50, 200, 600]),
    providerPerMille: sometimes([30, 150, 400]),
    objectPerMille: sometimes([10, 40, 150]),
    thinkMs: chance.pick([50, 500, 3_000, 3_000, 10_000, 60_000]),
    receiverPerMille: sometimes([50, 300, 700]),
  };
  // Not drawn, so that the other seeds remain unchanged.
  return { ...profile, cleansTwice: profile.thinkMs === 10_000 };
}

/** Nothing fails. */
export const NO_FAULTS: FaultProfile = {
  odds: NO_CALL_FAULTS,
  focus: new Map(),
  focusPerMille: 0,
  latencyMs: 5,
  slowMs: 0,
  disturbanceEveryMs: 0,
  disturbances: [],
  skewMs: 0,
  clientPerMille: 0,
  wakeUpPerMille: 0,
  providerPerMille: 0,
  objectPerMille: 0,
  receiverPerMille: 0,
  thinkMs: 500,
  cleansTwice: false,
};
