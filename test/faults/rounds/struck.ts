import { VENDOR_CALL_TROUBLES, VENDOR_LOSSES, VENDOR_SILENCE } from '../vendors/vendor-fault-kinds.js';
import { RECEIVER_TROUBLES } from '../receivers/receiver-fault-kinds.js';
import { FAULT_KINDS, type Action, type FaultKind } from './schedule.js';

/** What a fault did in the end: processes and stores really struck, requests in trouble or sent into a bad link. */
export interface Struck {
  readonly kind: FaultKind;
  readonly action: Action['to'];
  readonly hits: number;
}

/** By kind: how many there were, and what they hit altogether. */
export function describeStruck(struck: readonly Struck[]): string {
  const kinds = new Map<string, { times: number; hits: number; action: Struck['action'] }>();
  for (const { kind, hits, action } of struck) {
    const known = kinds.get(kind) ?? { times: 0, hits: 0, action };
    kinds.set(kind, { action, times: known.times + 1, hits: known.hits + hits });
  }
  return [...kinds]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, { times, hits, action }]) => `${times} ${kind} (${HIT[action](hits)})`)
    .join(', ');
}

const HIT: Readonly<Record<Struck['action'], (hits: number) => string>> = {
  'processes': (hits) => `${hits} struck`,
  'store': (hits) => `${hits} struck`,
  's3': (hits) => `${hits} requests`,
  'links': (hits) => `${hits} pieces sent`,
  'vendor-links': (hits) => `${hits} pieces sent`,
  'vendors': (hits) => `${hits} calls`,
  'receiver-links': (hits) => `${hits} pieces sent`,
  'receivers': (hits) => `${hits} messages`,
  'streams': (hits) => `${hits} pieces sent`,
};

const CERTAIN: readonly Struck['action'][] = ['processes', 'store'];

/**
 * The kinds of fault that hit nothing in a whole run that has them all. Processes and stores are there to be struck,
 * each time. Whether somebody uses a certain link, or asks S3, while it is in trouble is up to chance: of those that
 * all kinds together hit nothing would be none. Vendors are asked for each kind of call while it fails.
 */
export function whatHitNothing(struck: readonly Struck[]): string[] {
  const hitsOf = (are: (one: Struck) => boolean) => struck.filter(are).reduce((sum, { hits }) => sum + hits, 0);
  const certain = FAULT_KINDS.filter((kind) =>
    struck.every((one) => one.kind !== kind || CERTAIN.includes(one.action)),
  );
  return [
    ...certain.filter((kind) => hitsOf((one) => one.kind === kind) === 0),
    ...[...VENDOR_CALL_TROUBLES, ...VENDOR_LOSSES, VENDOR_SILENCE].filter(
      (kind) => hitsOf((one) => one.kind === kind) === 0,
    ),
    ...RECEIVER_TROUBLES.filter((kind) => hitsOf((one) => one.kind === kind) === 0),
    ...(hitsOf(({ action }) => action === 'links') === 0 ? ['any trouble of a link'] : []),
    ...(hitsOf(({ action }) => action === 's3') === 0 ? ['any trouble of S3'] : []),
    ...(hitsOf(({ action }) => action === 'vendor-links') === 0 ? ["any trouble of a vendor's link"] : []),
    ...(hitsOf(({ action }) => action === 'receiver-links') === 0 ? ["any trouble of a receiver's link"] : []),
    ...(hitsOf(({ action }) => action === 'streams') === 0 ? ['any trouble of a stream'] : []),
  ];
}
