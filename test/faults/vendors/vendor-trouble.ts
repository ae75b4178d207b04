import { setTimeout as sleep } from 'node:timers/promises';
import type { FakeServer, Fault, FaultMatch, PlannedFault } from '../../providers/fakes/fake-server.js';
import { LONGEST_DELAY_MS } from './vendor-models.js';

/**
 * A vendor's misbehaviour. For submissions: it carries them out and the answer is lost, or carries them out late; it
 * never carries them out, and the caller does not learn that; or it has no capacity. For other calls: one kind fails.
 * Or it is silent, and answers no calls of any kind.
 */
export type VendorTrouble =
  | 'answers-lost'
  | 'requests-lost'
  | 'full'
  | 'polls-fail'
  | 'outputs-fail'
  | 'cancels-fail'
  | 'uploads-fail'
  | 'silence';

const JSON_TYPE = { 'content-type': 'application/json' };
const FULL: Fault = {
  type: 'status',
  status: 429,
  headers: { ...JSON_TYPE, 'retry-after': '1' },
  body: '{"error":{"type":"requests","code":"rate_limit_exceeded"}}',
};

/** Faults for a call that creates nothing: no answer, half of one, a late one, or another server's. */
const FAILED_CALLS: readonly [Fault, ...Fault[]] = [
  { type: 'lose-answer' },
  { type: 'html', isHandled: false },
  { type: 'truncated' },
  { type: 'hang', isHandled: false },
  { type: 'html', isHandled: false, status: 200 },
  { type: 'slow-answer', afterMs: LONGEST_DELAY_MS },
  { type: 'drop' },
  FULL,
  { type: 'status', status: 503, headers: JSON_TYPE, body: '{"detail":"not now"}' },
];

interface Spoils {
  readonly match: FaultMatch;
  readonly faults: readonly [Fault, ...Fault[]];
}

const SPOILS: Readonly<Record<Exclude<VendorTrouble, 'silence'>, Spoils>> = {
  'answers-lost': {
    match: { of: 'submit' },
    faults: [
      { type: 'lose-answer' },
      { type: 'late' },
      { type: 'hang' },
      { type: 'truncated' },
      { type: 'html', isHandled: true },
    ],
  },
  'requests-lost': {
    match: { of: 'submit' },
    // The caller cannot rule out that a request that arrived whole was accepted.
    faults: [
      { type: 'html', isHandled: false },
      { type: 'hang', isHandled: false },
      { type: 'drop' },
      { type: 'cut-body' },
    ],
  },
  'full': { match: { of: 'submit' }, faults: [FULL] },
  'polls-fail': { match: { of: 'poll' }, faults: FAILED_CALLS },
  'outputs-fail': { match: { of: 'output' }, faults: FAILED_CALLS },
  // A cancel of ComfyUI is two requests, to remove a task from the queue and to interrupt it.
  'cancels-fail': { match: { method: 'POST', path: /\/(?:cancel|queue|interrupt)$/ }, faults: FAILED_CALLS },
  'uploads-fail': { match: { of: 'upload' }, faults: FAILED_CALLS },
};

/** A trouble under way. */
export interface VendorSuffering {
  /** Calls that met it so far: every second one of its kind, and every call to a silent vendor. */
  readonly hits: number;
  cure(): void;
}

/** Applies from the next call until it is cured. A vendor has one trouble of each kind at a time. */
export function sufferAtVendor(server: FakeServer, trouble: VendorTrouble): VendorSuffering {
  return trouble === 'silence' ? silenced(server) : spoiled(server, SPOILS[trouble]);
}

function spoiled(server: FakeServer, { match, faults }: Spoils): VendorSuffering {
  let isCured = false;
  let planned: PlannedFault;
  const suffering = {
    hits: 0,
    cure: () => {
      isCured = true;
      server.forgetFaults([planned]);
    },
  };
  const plan = () => {
    const fault = faults[suffering.hits % faults.length] ?? faults[0];
    planned = server.plan(fault, match);
    return { fault, planned };
  };
  const spoil = async (met: ReturnType<typeof plan>): Promise<void> => {
    await met.planned.met;
    suffering.hits += 1;
    if (met.fault.type === 'late') void sleep(LONGEST_DELAY_MS).then(() => met.planned.release());
    await server.arrival(match);
    if (!isCured) await spoil(plan());
  };
  void spoil(plan());
  return suffering;
}

/** More calls than any vendor gets in a round. */
const ALL_CALLS = 5_000;

function silenced(server: FakeServer): VendorSuffering {
  const planned = Array.from({ length: ALL_CALLS }, () => server.plan({ type: 'hang', isHandled: false }));
  const suffering = { hits: 0, cure: () => server.forgetFaults(planned) };
  for (const { met } of planned)
    void met.then(() => {
      suffering.hits += 1;
    });
  return suffering;
}
