import { between, type Draw, drawsFrom, oneOf, shuffled } from '../draws.js';
import type { Toxic } from '../harness/toxiproxy.js';
import { RECEIVER_NAMES, type ReceiverName, type ReceiverTrouble } from '../receivers/receivers.js';
import { dealer, type Drawn, type Kinds, poisonOf, REST, type RestName, type Round } from './schedule.js';

/** On every second connection, so that what was sent first does not arrive first. */
const HALF = 0.5;

/** Faults of links between workers and the receivers of webhooks. */
export const RECEIVER_LINK_FAULTS: Kinds = {
  "a receiver's link slowed": (draw) =>
    links(draw, { type: 'latency', attributes: { latency: between(draw, 500, 2_000), jitter: 200 } }, HALF),
  "a receiver's link cut": (draw) => links(draw, { type: 'reset_peer', attributes: { timeout: draw(300) } }),
  "a receiver's link black-holed": (draw) => links(draw, { type: 'timeout', attributes: { timeout: 0 } }),
  "a receiver's link that ends early": (draw) =>
    links(draw, { type: 'limit_data', attributes: { bytes: between(draw, 200, 2_000) } }),
};
export const RECEIVER_TROUBLES: Kinds = {
  'a receiver hangs': (draw) => trouble(draw, 'hang'),
  'a receiver resets': (draw) => trouble(draw, 'reset'),
  'a receiver fails': (draw) => trouble(draw, 'fail'),
  'a receiver redirects': (draw) => trouble(draw, 'redirect'),
  'a receiver is slow': (draw) => trouble(draw, 'slow'),
  'a receiver is busy': (draw) => trouble(draw, 'busy'),
  'a receiver answers without end': (draw) => trouble(draw, 'endless'),
};
/** Faults between clients and their event streams. */
export const STREAM_FAULTS: Kinds = {
  'a stream slowed': (draw) =>
    streams(draw, { type: 'latency', attributes: { latency: between(draw, 100, 1_500), jitter: 50 } }),
  'a stream cut': (draw) => streams(draw, { type: 'reset_peer', attributes: { timeout: draw(300) } }),
  'a stream black-holed': (draw) => streams(draw, { type: 'timeout', attributes: { timeout: 0 } }),
};

/** The same rounds with one fault of each of these tables in addition to their own. */
export function withReceiverFaults(rounds: readonly Round[], seed: number): Round[] {
  const draw = drawsFrom(seed ^ 0x72_65_63_76);
  const dealers = [RECEIVER_LINK_FAULTS, RECEIVER_TROUBLES, STREAM_FAULTS].map((kinds) => dealer(draw, kinds));
  return rounds.map((round) => ({ ...round, faults: [...round.faults, ...dealers.map((deal) => deal())] }));
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
