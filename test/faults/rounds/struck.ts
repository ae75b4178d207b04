import type { Generation } from '../../../core/generation/generation.js';
import { RECEIVER_TROUBLES } from './receiver-faults.js';
import { CLUSTER_FAULTS } from './cluster-faults.js';
import { type Action, type DatabaseName, type Fault, faultKinds } from './schedule.js';
import { VENDOR_CALL_TROUBLES, VENDOR_LOSSES, VENDOR_SILENCE } from './vendor-faults.js';

/** The final effect of a fault: processes and stores that were struck, requests in trouble or sent into a bad link. */
export interface Struck extends Pick<Fault, 'kind'> {
  readonly action: Action['to'];
  readonly hits: number;
}

/** The number of faults of each kind, and their total hits. */
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
  'cluster': (hits) => `${hits} struck`,
  's3': (hits) => `${hits} requests`,
  'links': (hits) => `${hits} pieces sent`,
  'vendor-links': (hits) => `${hits} pieces sent`,
  'vendors': (hits) => `${hits} calls`,
  'receiver-links': (hits) => `${hits} pieces sent`,
  'receivers': (hits) => `${hits} messages`,
  'streams': (hits) => `${hits} pieces sent`,
};

/** Actions that may hit nothing as long as one of them in the run hits something. */
const BY_CHANCE: Partial<Record<Struck['action'], string>> = {
  'links': 'a link',
  's3': 'S3',
  'vendor-links': "a vendor's link",
  'receiver-links': "a receiver's link",
  'streams': 'a stream',
};
const CERTAIN: readonly Struck['action'][] = ['processes', 'store', 'cluster'];

/**
 * The kinds of fault that hit nothing in a whole run that has them all. Faults of processes and stores must hit
 * something each time. Whether a certain link, or S3, is used while it is in trouble is up to chance, so these kinds
 * fail only if all of them together hit nothing. Vendors get calls of each kind while it fails.
 */
export function whatHitNothing(struck: readonly Struck[], database: DatabaseName = 'mongo'): string[] {
  const missed = (are: (one: Struck) => boolean) => struck.every((one) => !are(one) || one.hits === 0);
  const kinds = [...faultKinds(database), ...(database === 'mongo' ? [] : Object.keys(CLUSTER_FAULTS))];
  const certain = kinds.filter((kind) => struck.every((one) => one.kind !== kind || CERTAIN.includes(one.action)));
  const atVendors = [...Object.keys(VENDOR_CALL_TROUBLES), ...VENDOR_LOSSES, VENDOR_SILENCE];
  // Rounds on PostgreSQL have only the faults of processes and stores.
  const each = database === 'mongo' ? [...certain, ...atVendors, ...Object.keys(RECEIVER_TROUBLES)] : certain;
  return [
    ...each.filter((kind) => missed((one) => one.kind === kind)),
    ...Object.entries(BY_CHANCE).flatMap(([to, what]) =>
      (database === 'mongo' || to === 'links' || to === 's3') && missed(({ action }) => action === to)
        ? [`any trouble of ${what}`]
        : [],
    ),
  ];
}

/** A period in which a generation ran and no worker had its lease. */
export interface Ownerless {
  readonly generationId: string;
  readonly from: number;
  until: number;
  /** How many younger generations of its model started in that period, after recovery had had the time to wake it. */
  overtakenBy: number;
}

/** Polls generations, and counts which started while another one waited for a new worker. */
export class OwnerlessWatch {
  readonly stretches: Ownerless[] = [];
  private readonly underWay = new Map<string, Ownerless>();
  private readonly started = new Set<string>();

  /** `allowanceMs`: the time for recovery and the delivery of a wake-up before an overtaking is counted. */
  constructor(private readonly allowanceMs: number) {}

  see(now: number, generations: readonly Generation[]): void {
    const begun = generations.filter(({ fence, generationId }) => fence > 0 && !this.started.has(generationId));
    for (const g of generations) this.note(now, g, begun);
    for (const { generationId } of begun) this.started.add(generationId);
  }

  private note(now: number, g: Generation, begun: readonly Generation[]): void {
    const known = this.underWay.get(g.generationId);
    const isOwnerless = g.status === 'running' && (g.lease === undefined || g.lease.expiresAt <= now);
    if (!isOwnerless) {
      this.underWay.delete(g.generationId);
    } else if (known === undefined) {
      const stretch = { generationId: g.generationId, from: now, until: now, overtakenBy: 0 };
      this.underWay.set(g.generationId, stretch);
      this.stretches.push(stretch);
    } else {
      known.until = now;
      if (now - known.from <= this.allowanceMs) return;
      known.overtakenBy += begun.filter(
        ({ modelKey, createdAt }) => modelKey === g.modelKey && createdAt > g.createdAt,
      ).length;
    }
  }
}
