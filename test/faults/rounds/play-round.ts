import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../../core/errors.js';
import type { ApiClient } from '../clients/api-client.js';
import type { ClientPool } from '../clients/client-pool.js';
import { useUntil } from '../clients/ordinary-client.js';
import { drawsFrom } from '../draws.js';
import type { Installation } from '../harness/installation.js';
import type { Span } from '../../history/recorded/history.js';
import { perform } from './perform.js';
import type { Fault, Round } from './schedule.js';
import type { Struck } from './struck.js';
import { askVendors } from './vendor-faults.js';

const BURST = { balance: 5, creates: 5, cost: 2, mayBeExact: false } as const;
/** Shortly after a fault has started. */
const EARLY_MS = 100;
/** How long a vendor's trouble lasts at most beyond its time, when too few calls came. */
const [LOOK_EVERY_MS, MOST_LOOKS] = [100, 80];
/** After this many looks, another request is sent. */
const LOOKS_BETWEEN = 25;
/**
 * A call without an answer ends after three seconds; a worker that has paused the vendor then retries after one more.
 */
const PAST_A_PAUSE_MS = 5_000;
/** Long enough for a revocation to reach all processes, and for some more requests after that. */
const USED_AFTER_REVOCATION_MS = 7_000;

export interface PlayedRound {
  /** Continues beyond the round, because a revoked key is used for some time after its revocation. */
  readonly aftermath: Promise<void>;
  /** From the first fault until everything was healed. */
  readonly trouble: Span;
  /** The effects of its faults. */
  readonly struck: readonly Struck[];
  /** Periods in which workers may have lost the work that they had in flight. */
  readonly lostWorkers: readonly Span[];
}

/** Inputs that all rounds of a run share. Everything in them ends with the signal. */
export interface Play {
  readonly installation: Installation;
  readonly pool: ClientPool;
  readonly rich: ApiClient;
  /** A ready upload of the rich party; absent when there are no vendors. */
  readonly uploadId?: string;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/**
 * One round: its faults, each for its time, together with a burst on a poor account and the revocation of a key; then
 * everything is healed.
 */
export async function playRound(
  round: Round,
  { installation, pool, rich, uploadId = '', seed, signal }: Play,
): Promise<PlayedRound> {
  const pause = (ms: number) => sleep(ms, undefined, { signal });
  await untilReached(installation, pause);
  const isCapped = round.number % 2 === 0 && !installation.hasOlderProcesses;
  const poor = await openPoor(pool, `poor-${round.number}`, { balance: BURST.balance, isCapped });
  const leaving = await pool.giveKey(`leaver-${round.number}`, rich.party);
  let isOver = false;
  const usesItsKey = useUntil(leaving.api, drawsFrom(seed + round.number), () => !isOver && !signal.aborted);
  const revoke = async () => {
    await pause(round.revokeAfterMs);
    await pool.revoke(leaving, signal);
    await pause(USED_AFTER_REVOCATION_MS);
  };
  const aftermath = Promise.all([
    usesItsKey,
    revoke().finally(() => {
      isOver = true;
    }),
  ]).then(() => undefined);
  // If the round fails, the aftermath is not awaited, and its own failure is then irrelevant.
  aftermath.catch(() => undefined);
  const begunAt = pool.now();
  const from = begunAt + Math.min(...round.faults.map(({ afterMs }) => afterMs));
  const [played] = await Promise.all([
    Promise.all(
      round.faults.map(async (fault) => {
        const ask = () => askVendors(fault.action, { pool, rich, uploadId, pause });
        const struck = await playFault(installation, fault, { pause, ask });
        return { struck, fault, span: { from: begunAt + fault.afterMs, until: pool.now() } };
      }),
    ),
    pause(round.burstAfterMs).then(() => pool.burst(poor, BURST)),
  ]);
  await heal(installation);
  return {
    aftermath,
    trouble: { from, until: pool.now() },
    struck: played.map(({ struck }) => struck),
    lostWorkers: played.filter(({ fault }) => losesWorkers(fault)).map(({ span }) => span),
  };
}

/** Whether the fault's effect on processes, or on their database, may end their work. */
function losesWorkers({ action }: Fault): boolean {
  return (
    action.to === 'processes' ||
    action.to === 'cluster' ||
    (action.to === 'store' && action.targets[0] === 'database') ||
    (action.to === 'links' && action.store === 'database')
  );
}

/** The faults of the servers have also broken the operator's connections, and the first call may fail. */
async function untilReached(
  { operator: { context } }: Installation,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      await context.accounts.list({ limit: 1 });
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await pause(LOOK_EVERY_MS);
    }
  }
}

/**
 * With a cap, the account has more credits than its key may spend. Processes of the previous release do not support
 * caps.
 */
export function openPoor(
  pool: ClientPool,
  name: string,
  { balance, isCapped }: { readonly balance: number; readonly isCapped: boolean },
): Promise<ApiClient> {
  return isCapped ? pool.openAccount(name, 10 * balance, balance) : pool.openAccount(name, balance);
}

interface Playing {
  readonly pause: (ms: number) => Promise<void>;
  /** Sends the requests that the fault affects. */
  readonly ask: () => Promise<void>;
}

/** A fault that is cut short is not undone: the installation is ended then. */
async function playFault(
  installation: Installation,
  { kind, action, afterMs, forMs }: Fault,
  { pause, ask }: Playing,
): Promise<Struck> {
  await pause(afterMs);
  const performed = await perform(installation, action, pause);
  // Continues whatever the outcome of the previous one: all are awaited.
  const askIfNeeded = () => (performed.hasHitEnough?.() === true ? undefined : ask());
  const asked = [pause(EARLY_MS).then(ask), pause(forMs / 2).then(askIfNeeded)];
  // Matters only if the round completes.
  const all = () => Promise.all(asked);
  all().catch(() => undefined);
  await pause(forMs);
  // On a slow machine, it may take some time until a task is at a vendor.
  for (let looks = 0; looks < MOST_LOOKS && performed.hasHitEnough?.() === false; looks += 1) {
    if (looks % LOOKS_BETWEEN === 0) asked.push(ask().catch(() => undefined));
    await pause(LOOK_EVERY_MS);
  }
  if (action.to === 'vendors' && action.trouble === 'silence') await pause(PAST_A_PAUSE_MS);
  const struck = { kind, action: action.to, hits: performed.hits() };
  await performed.undo();
  await all();
  return struck;
}

async function heal(installation: Installation): Promise<void> {
  await Promise.all(installation.processes.map((process) => process.ensureServing()));
}
