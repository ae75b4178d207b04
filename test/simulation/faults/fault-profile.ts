import type { Chance } from '../harness/scheduler.js';

/** What may become of one call on a port, how often in a thousand calls. */
export interface CallOdds {
  /** The process dies and the call never leaves it. */
  readonly crashBefore: number;
  /** The call does its work, and the process dies before it hears of that. */
  readonly crashAfter: number;
  /** The call never arrives; the caller is told that the store is away. */
  readonly lostRequest: number;
  /** The call does its work; the caller is told that the store is away. */
  readonly lostAnswer: number;
  /** The caller is told that the store is away, and much later the call does its work after all. */
  readonly lateEffect: number;
  /** The call does its work, and the process sleeps for longer than any lease before it hears of that. */
  readonly sleepAfter: number;
  /** The call, or its answer, takes seconds. */
  readonly slow: number;
}

export type CallFault = keyof CallOdds;

/**
 * Which faults a seed has, and how often. Most things are calm in most seeds: faults that hide each other find nothing.
 */
export interface FaultProfile {
  readonly odds: CallOdds;
  /** A few calls that are hit far more often than the others, each by one fault. */
  readonly focus: ReadonlyMap<string, CallFault>;
  readonly focusPerMille: number;
  /** How long a call usually takes, one way, at most; and how long a slow one may take. */
  readonly latencyMs: number;
  readonly slowMs: number;
  /** Mean time between two things that apply a process, a store or the provider from outside; 0 is never. */
  readonly disturbanceEveryMs: number;
  readonly disturbances: readonly Disturbance[];
  readonly skewMs: number;
  /** A client's request, or the answer to it, is lost, comes twice or late. */
  readonly clientPerMille: number;
  /** A wake-up is lost, comes twice or late. */
  readonly wakeUpPerMille: number;
  /** How many in a thousand of a provider's answers are not what was hoped for. */
  readonly providerPerMille: number;
  /** An object is lost or cut short while it is written, copied or read. */
  readonly objectPerMille: number;
  /** A receiver of webhooks loses a message, fails or takes its time. */
  readonly receiverPerMille: number;
  /** How long a client thinks between two requests, at most. */
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
  // Not drawn, so that the other seeds stay what they were.
  return { ...profile, cleansTwice: profile.thinkMs === 10_000 };
}

/** Nothing goes wrong. */
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
