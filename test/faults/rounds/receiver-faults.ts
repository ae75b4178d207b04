import { between, type Draw, drawsFrom, oneOf, shuffled } from '../draws.js';
import type { Toxic } from '../harness/toxiproxy.js';
import {
  RECEIVER_LINK_FAULTS,
  RECEIVER_NAMES,
  RECEIVER_TROUBLES,
  type ReceiverFaultKind,
  type ReceiverName,
  type ReceiverTrouble,
  STREAM_FAULTS,
} from '../receivers/receivers.js';
import { type Action, type Fault, poisonOf, REST, type RestName, type Round } from './schedule.js';

type Drawn = { readonly action: Action; readonly forMs: number };

/** On every second connection, so that what was sent first does not arrive first. */
const HALF = 0.5;

/** Faults between the workers and receivers, at receivers, and between clients and their event streams. */
const KINDS: Readonly<Record<ReceiverFaultKind, (draw: Draw) => Drawn>> = {
  "a receiver's link slowed": (draw) =>
    links(draw, { type: 'latency', attributes: { latency: between(draw, 500, 2_000), jitter: 200 } }, HALF),
  "a receiver's link cut": (draw) => links(draw, { type: 'reset_peer', attributes: { timeout: draw(300) } }),
  "a receiver's link black-holed": (draw) => links(draw, { type: 'timeout', attributes: { timeout: 0 } }),
  "a receiver's link that ends early": (draw) =>
    links(draw, { type: 'limit_data', attributes: { bytes: between(draw, 200, 2_000) } }),
  'a receiver hangs': (draw) => trouble(draw, 'hang'),
  'a receiver resets': (draw) => trouble(draw, 'reset'),
  'a receiver fails': (draw) => trouble(draw, 'fail'),
  'a receiver redirects': (draw) => trouble(draw, 'redirect'),
  'a receiver is slow': (draw) => trouble(draw, 'slow'),
  'a receiver is busy': (draw) => trouble(draw, 'busy'),
  'a receiver answers without end': (draw) => trouble(draw, 'endless'),
  'a stream slowed': (draw) =>
    streams(draw, { type: 'latency', attributes: { latency: between(draw, 100, 1_500), jitter: 50 } }),
  'a stream cut': (draw) => streams(draw, { type: 'reset_peer', attributes: { timeout: draw(300) } }),
  'a stream black-holed': (draw) => streams(draw, { type: 'timeout', attributes: { timeout: 0 } }),
};

const DECKS = [RECEIVER_LINK_FAULTS, RECEIVER_TROUBLES, STREAM_FAULTS] as const;

/**
 * The same rounds with three of these in addition to their own faults: of a link to receivers, at receivers, and of
 * streams.
 */
export function withReceiverFaults(rounds: readonly Round[], seed: number): Round[] {
  const draw = drawsFrom(seed ^ 0x72_65_63_76);
  const dealt: ReceiverFaultKind[][] = DECKS.map(() => []);
  const deal = (deck: number): Fault => {
    if (dealt[deck]?.length === 0) dealt[deck] = shuffled<ReceiverFaultKind>(draw, DECKS[deck] ?? []);
    const kind = dealt[deck]?.pop() as ReceiverFaultKind;
    return { kind, ...KINDS[kind](draw), afterMs: between(draw, 300, 2_000) };
  };
  return rounds.map((round) => ({ ...round, faults: [...round.faults, ...DECKS.map((_, deck) => deal(deck))] }));
}

function links(draw: Draw, toxic: Toxic, toxicity = oneOf<number>(draw, [1, HALF])): Drawn {
  return {
    action: { to: 'receiver-links', targets: someOf(draw, RECEIVER_NAMES), ...poisonOf(draw, toxic, toxicity) },
    forMs: between(draw, 1_500, 5_000),
  };
}

function trouble(draw: Draw, what: ReceiverTrouble): Drawn {
  return {
    action: { to: 'receivers', targets: someOf<ReceiverName>(draw, RECEIVER_NAMES), trouble: what },
    forMs: between(draw, 2_000, 5_000),
  };
}

function streams(draw: Draw, toxic: Toxic): Drawn {
  return {
    action: { to: 'streams', targets: someOf<RestName>(draw, REST), ...poisonOf(draw, toxic, 1) },
    forMs: between(draw, 1_000, 4_000),
  };
}

/** One of two, or both. */
function someOf<T>(draw: Draw, all: readonly T[]): readonly T[] {
  return shuffled(draw, all).slice(0, between(draw, 1, all.length));
}
