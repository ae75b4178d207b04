import { between, drawsFrom, oneOf, shuffled, type Draw } from '../draws.js';
import type { Direction, Toxic } from '../harness/toxiproxy.js';
import { VENDOR_LINK_FAULTS, VENDOR_TROUBLES, type VendorFaultKind } from '../vendors/vendor-fault-kinds.js';
import { LONGEST_DELAY_MS, VENDOR_NAMES, type VendorName } from '../vendors/vendor-models.js';
import type { VendorTrouble } from '../vendors/vendor-trouble.js';
import { WORKERS, type Action, type Fault, type Round } from './schedule.js';

type Drawn = { readonly action: Action; readonly forMs: number };

const JITTER_MS = 50;

/** What goes wrong between the workers and vendors, and at vendors. A link slows by less than a vendor's settle time. */
const KINDS: Readonly<Record<VendorFaultKind, (draw: Draw) => Drawn>> = {
  "a vendor's link slowed": (draw: Draw) =>
    links(draw, {
      type: 'latency',
      attributes: { latency: between(draw, 100, LONGEST_DELAY_MS - JITTER_MS), jitter: JITTER_MS },
    }),
  "a vendor's link cut": (draw: Draw) => links(draw, { type: 'reset_peer', attributes: { timeout: draw(300) } }),
  "a vendor's link black-holed": (draw: Draw) => links(draw, { type: 'timeout', attributes: { timeout: 0 } }),
  "a vendor's link that ends early": (draw: Draw) =>
    links(draw, { type: 'limit_data', attributes: { bytes: between(draw, 200, 2_000) } }),
  'a vendor loses answers': (draw: Draw) => trouble(draw, 'answers-lost'),
  'a vendor loses requests': (draw: Draw) => trouble(draw, 'requests-lost'),
  'a vendor is full': (draw: Draw) => trouble(draw, 'full'),
};

/**
 * The same rounds with one fault of a link to vendors and one at vendors in each, dealt like cards. In every second one
 * a worker is killed meanwhile.
 */
export function withVendorFaults(rounds: readonly Round[], seed: number): Round[] {
  const draw = drawsFrom(seed ^ 0x76_65_6e_64);
  const dealt: Record<Place, VendorFaultKind[]> = { link: [], vendor: [] };
  const deal = (place: Place): Fault => {
    if (dealt[place].length === 0) dealt[place] = shuffled(draw, DECKS[place]);
    const kind = dealt[place].pop() as VendorFaultKind;
    return { kind, ...KINDS[kind](draw), afterMs: between(draw, 300, 2_000) };
  };
  return rounds.map((round) => {
    const vendorFaults = [deal('link'), deal('vendor')];
    return { ...round, faults: [...round.faults, ...vendorFaults, ...(round.number % 2 === 0 ? [killed(draw)] : [])] };
  });
}

type Place = 'link' | 'vendor';

const DECKS: Readonly<Record<Place, readonly VendorFaultKind[]>> = {
  link: VENDOR_LINK_FAULTS,
  vendor: VENDOR_TROUBLES,
};

function killed(draw: Draw): Fault {
  return {
    kind: 'a worker killed',
    action: { to: 'processes', does: 'SIGKILL', processes: [oneOf(draw, WORKERS)] },
    afterMs: between(draw, 1_000, 3_000),
    forMs: between(draw, 0, 2_000),
  };
}

/** On every second connection in half of the cases: then what was sent first does not arrive first. */
function links(draw: Draw, toxic: Toxic): Drawn {
  const directions = oneOf<readonly Direction[]>(draw, [['upstream'], ['downstream'], ['upstream', 'downstream']]);
  const toxicity = draw(2) === 0 ? 1 : 0.5;
  return {
    action: { to: 'vendor-links', vendors: someVendors(draw), toxic, directions, toxicity },
    forMs: between(draw, 1_500, 5_000),
  };
}

function trouble(draw: Draw, what: VendorTrouble): Drawn {
  return {
    action: { to: 'vendors', vendors: someVendors(draw), trouble: what },
    forMs: between(draw, 2_000, 4_000),
  };
}

function someVendors(draw: Draw): readonly VendorName[] {
  return draw(2) === 0 ? VENDOR_NAMES : shuffled(draw, VENDOR_NAMES).slice(0, between(draw, 1, 3));
}
