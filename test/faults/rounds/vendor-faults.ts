import type { ApiClient } from '../clients/api-client.js';
import type { ClientPool } from '../clients/client-pool.js';
import { between, type Draw, drawsFrom, oneOf, shuffled } from '../draws.js';
import type { Toxic } from '../harness/toxiproxy.js';
import {
  LONGEST_DELAY_MS,
  VENDOR_MODEL_KEYS,
  VENDOR_MODELS,
  VENDOR_NAMES,
  type VendorModel,
  type VendorName,
} from '../vendors/vendor-models.js';
import type { VendorTrouble } from '../vendors/vendor-trouble.js';
import {
  type Action,
  begun,
  dealer,
  type Drawn,
  type Fault,
  type Kinds,
  poisonOf,
  type Round,
  WORKERS,
} from './schedule.js';

const JITTER_MS = 50;
/** Vendors that are the only one of their models. */
const ALONE = ['images', 'predictions', 'studio'] as const;
/** Vendors that answer a submission before its task has ended. */
const WITH_TASKS = ['predictions', 'studio', 'west', 'east'] as const;
/**
 * The silence lasts until there were enough calls for a worker to pause the vendor, and then longer than that pause.
 */
const SHORTEST_SILENCE_MS = 2_000;

/** Faults of links to vendors. A link delays by less than a vendor's settle time. */
export const VENDOR_LINK_FAULTS: Kinds = {
  "a vendor's link slowed": (draw) =>
    links(draw, {
      type: 'latency',
      attributes: { latency: between(draw, 100, LONGEST_DELAY_MS - JITTER_MS), jitter: JITTER_MS },
    }),
  "a vendor's link cut": (draw) => links(draw, { type: 'reset_peer', attributes: { timeout: draw(300) } }),
  "a vendor's link black-holed": (draw) => links(draw, { type: 'timeout', attributes: { timeout: 0 } }),
  "a vendor's link that ends early": (draw) =>
    links(draw, { type: 'limit_data', attributes: { bytes: between(draw, 200, 2_000) } }),
};
export const VENDOR_CALL_TROUBLES: Kinds = {
  'a vendor is full': (draw) => trouble(draw, 'full', someOf(draw, VENDOR_NAMES)),
  'a vendor fails polls': (draw) => trouble(draw, 'polls-fail', someOf(draw, WITH_TASKS)),
  'a vendor fails outputs': (draw) => trouble(draw, 'outputs-fail', someOf(draw, WITH_TASKS)),
  'a vendor fails cancels': (draw) => trouble(draw, 'cancels-fail', someOf(draw, WITH_TASKS)),
  'a vendor fails uploads': (draw) => trouble(draw, 'uploads-fail', ['studio']),
};
/** Faults that leave it unknown whether a submission was accepted. */
export const VENDOR_LOSSES = ['a vendor loses requests', 'a vendor loses answers'] as const;
export const VENDOR_SILENCE = 'a vendor is silent';

/**
 * The same rounds with these in addition to their own faults: one of a link to vendors and one of calls at vendors,
 * dealt like cards; some vendors that lose submissions and others that lose answers to them; and in every second round
 * silent vendors, in the others a killed worker.
 */
export function withVendorFaults(rounds: readonly Round[], seed: number): Round[] {
  const draw = drawsFrom(seed ^ 0x76_65_6e_64);
  const [dealLink, dealTrouble] = [dealer(draw, VENDOR_LINK_FAULTS), dealer(draw, VENDOR_CALL_TROUBLES)];
  return rounds.map((round) => {
    const other = round.number % 2 === 0 ? killed(draw) : silence(draw);
    return { ...round, faults: [...round.faults, dealLink(), dealTrouble(), ...losses(draw), other] };
  });
}

/**
 * One of the route's two vendors loses submissions, and the other loses the answers; each of the others loses one
 * or the other.
 */
function losses(draw: Draw): Fault[] {
  const [one, other] = shuffled<VendorName>(draw, ['west', 'east']);
  const requests = ALONE.filter(() => draw(2) === 0);
  const answers = ALONE.filter((name) => !requests.includes(name));
  const losing = (what: VendorTrouble, ofRoute: VendorName | undefined, others: readonly VendorName[]) =>
    trouble(draw, what, ofRoute === undefined ? others : [ofRoute, ...others]);
  return [
    begun(draw, VENDOR_LOSSES[0], losing('requests-lost', one, requests)),
    begun(draw, VENDOR_LOSSES[1], losing('answers-lost', other, answers)),
  ];
}

/** A vendor without a limit, because a limit would keep workers from five calls, and sometimes another. */
function silence(draw: Draw): Fault {
  const targets = [...new Set<VendorName>(['studio', ...shuffled(draw, ALONE).slice(0, draw(2))])];
  const forMs = between(draw, SHORTEST_SILENCE_MS, SHORTEST_SILENCE_MS + 1_000);
  return begun(draw, VENDOR_SILENCE, { action: { to: 'vendors', targets, trouble: 'silence' }, forMs });
}

function killed(draw: Draw): Fault {
  return {
    kind: 'a worker killed',
    action: { to: 'processes', does: 'SIGKILL', targets: [oneOf(draw, WORKERS)] },
    afterMs: between(draw, 1_000, 3_000),
    forMs: between(draw, 0, 2_000),
  };
}

/** On every second connection in half of the cases, so that what was sent first does not arrive first. */
function links(draw: Draw, toxic: Toxic): Drawn {
  const poison = poisonOf(draw, toxic, oneOf<number>(draw, [1, 0.5]));
  return {
    action: { to: 'vendor-links', targets: someOf(draw, VENDOR_NAMES), ...poison },
    forMs: between(draw, 1_500, 5_000),
  };
}

function trouble(draw: Draw, what: VendorTrouble, targets: readonly VendorName[]): Drawn {
  return { action: { to: 'vendors', targets, trouble: what }, forMs: between(draw, 2_000, 4_000) };
}

function someOf(draw: Draw, vendors: readonly VendorName[]): readonly VendorName[] {
  return draw(2) === 0 ? vendors : shuffled(draw, vendors).slice(0, between(draw, 1, 3));
}

export interface AsksVendors {
  readonly pool: ClientPool;
  readonly rich: ApiClient;
  /** A ready upload of the rich party. */
  readonly uploadId: string;
  readonly pause: (ms: number) => Promise<void>;
}

/**
 * Tasks per model each time: a trouble hits every second call, and a silence must hit enough for a worker to pause the
 * vendor.
 */
const [TASKS, TASKS_IN_SILENCE] = [3, 4];

/**
 * Sends requests to the vendors of a fault of the kind it spoils, because there might be none otherwise, and to no
 * other vendors: tasks that wait for a vendor in vain block later ones. Sends nothing for other faults.
 */
export async function askVendors(action: Action, { pool, rich, uploadId, pause }: AsksVendors): Promise<void> {
  if (action.to !== 'vendor-links' && action.to !== 'vendors') return;
  const models = VENDOR_MODEL_KEYS.filter((model) => isMadeBy(model, action.targets));
  if (action.to === 'vendor-links') return pool.askVendors(rich, models, { uploadId, times: 1, pause });
  if (action.trouble === 'cancels-fail') return pool.cancelAtVendors(rich, models, pause);
  const times = action.trouble === 'silence' ? TASKS_IN_SILENCE : TASKS;
  const wanted = action.trouble === 'uploads-fail' ? (['vendor-edit'] as const) : models;
  return pool.askVendors(rich, wanted, { uploadId, times, pause });
}

function isMadeBy(model: VendorModel, vendors: readonly VendorName[]): boolean {
  return VENDOR_MODELS[model].makers.some((maker) => vendors.includes(maker));
}
