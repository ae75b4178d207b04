import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, FakeServer } from '../../providers/fakes/fake-server.js';
import { LONGEST_DELAY_MS } from './vendor-models.js';

/**
 * What a vendor does with submissions: it carries them out and its answer is lost, or it was carried out late; it never
 * carries them out, which nobody learns; or it has no room.
 */
export type VendorTrouble = 'answers-lost' | 'requests-lost' | 'full';

const FAULTS: Readonly<Record<VendorTrouble, readonly [Fault, ...Fault[]]>> = {
  'answers-lost': [
    { type: 'lose-answer' },
    { type: 'late' },
    { type: 'hang' },
    { type: 'truncated' },
    { type: 'html', isHandled: true },
  ],
  'requests-lost': [{ type: 'html', isHandled: false }, { type: 'drop' }, { type: 'cut-body' }],
  'full': [
    {
      type: 'status',
      status: 429,
      headers: { 'content-type': 'application/json', 'retry-after': '1' },
      body: '{"error":{"type":"requests","code":"rate_limit_exceeded"}}',
    },
  ],
};

/** A trouble under way. */
export interface VendorSuffering {
  /** Submissions that met it so far: every second one. */
  readonly hits: number;
  cure(): void;
}

/** From the next submission on, until it is cured. A vendor has one trouble at a time. */
export function sufferAtVendor(server: FakeServer, trouble: VendorTrouble): VendorSuffering {
  const cured = new AbortController();
  const suffering = {
    hits: 0,
    cure: () => {
      cured.abort();
      server.forgetFaults();
    },
  };
  const spoil = async () => {
    const faults = FAULTS[trouble];
    const fault = faults[suffering.hits % faults.length] ?? faults[0];
    const planned = server.plan(fault, { of: 'submit' });
    await planned.met;
    suffering.hits += 1;
    if (fault.type === 'late') void sleep(LONGEST_DELAY_MS).then(() => planned.release());
    await server.arrival({ of: 'submit' });
    if (!cured.signal.aborted) await spoil();
  };
  void spoil();
  return suffering;
}
