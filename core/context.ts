import type { Boot } from './boot.js';
import type { Cancellation } from './cancellation.js';
import { AccountWriter, SETTLE_WAIT_MS } from './credits/account-writer.js';
import { LastingCalls } from './generation/lasting-calls.js';
import { LocalRuns } from './generation/local-runs.js';
import { QueuePositions } from './generation/queue-positions.js';
import { UnchargedSums } from './generation/uncharged-sums.js';
import { AppWatch, GenerationWatch, watchedAcceptances, watchedGenerations } from './generation/watch.js';
import type { Log } from './log.js';
import type { GenerationChanges } from './ports/stores.js';
import type { Ports } from './ports/tokens.js';
import { ProviderGates } from './providers/provider-gates.js';
import type { Settings } from './settings.js';

/**
 * What use cases work with: the ports, the settings, the account writer, cached sums, the watches, the worker
 * of this process, who waits and where in the queue, the gates of providers, and a log.
 */
export interface Context extends Ports {
  readonly settings: Settings;
  readonly accountWriter: AccountWriter;
  readonly unchargedSums: UnchargedSums;
  readonly generationWatch: GenerationWatch;
  readonly appWatch: AppWatch;
  readonly lastingCalls: LastingCalls;
  readonly localRuns: LocalRuns;
  readonly queuePositions: QueuePositions;
  readonly providerGates: ProviderGates;
  readonly log: Log;
  /** Called with the name of the row of `next-step.ts` that decided a step of a run; for tests. */
  readonly onRunStep?: (row: string) => void;
  /** Of this process; its leases and claims carry the id. */
  readonly boot: Boot;
  /**
   * Of the call that a use case runs for, where it can be cancelled. Reads end with the call. Work that has begun to
   * write is completed: a claim or a hold left halfway would keep the key, or the credits, until recovery runs.
   */
  readonly call?: Cancellation | undefined;
}

/**
 * The context that all use cases of a process share, with one account writer. Without a boot the process is taken for
 * one of several on the same stores; `changes` tells what the others write, where the store can. `settleWaitMs` is how
 * long a charge that releases nothing may wait for another write of its account.
 */
export function createContext(
  ports: Ports,
  settings: Settings,
  log: Log,
  boot: Boot = { id: ports.ids.uuid(), isExclusive: false },
  changes?: GenerationChanges,
  settleWaitMs = boot.isExclusive ? 0 : SETTLE_WAIT_MS,
): Context {
  const generationWatch = new GenerationWatch(ports, boot.isExclusive, changes);
  const appWatch = new AppWatch(ports, boot.isExclusive, changes);
  const queuePositions = new QueuePositions(ports);
  const watches = [generationWatch, appWatch, queuePositions];
  const acceptances = watchedAcceptances(ports.acceptances, ...watches);
  return {
    ...ports,
    generations: watchedGenerations(ports.generations, ...watches),
    acceptances,
    settings,
    log,
    boot,
    accountWriter: new AccountWriter({ ...ports, acceptances }, settleWaitMs),
    unchargedSums: new UnchargedSums(ports),
    generationWatch,
    appWatch,
    lastingCalls: new LastingCalls(),
    localRuns: new LocalRuns(),
    queuePositions,
    providerGates: new ProviderGates({ ...ports, settings, log, boot }),
  };
}
