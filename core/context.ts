import type { Boot } from './boot.js';
import type { Cancellation } from './cancellation.js';
import type { NearZero } from './credits/account.js';
import { AccountWriter, SETTLE_WAIT_MS } from './credits/account-writer.js';
import { LastingCalls } from './generation/lasting-calls.js';
import { QueuePositions } from './generation/queue-positions.js';
import { ThumbnailFlights } from './generation/thumbnail-flights.js';
import { UnchargedSums } from './generation/uncharged-sums.js';
import { LocalRuns } from './generation/wake.js';
import { AppWatch, GenerationWatch, watchedAcceptances, watchedGenerations } from './generation/watch.js';
import { SilentRetries } from './idempotency/silent-retries.js';
import type { Log } from './log.js';
import type { Ports } from './ports/ports.js';
import type { GenerationChanges } from './ports/stores.js';
import { ProviderGates } from './providers/provider-gates.js';
import { withoutRemovedWords } from './search/removed-words.js';
import type { Settings } from './settings.js';
import { OutcomeCounts } from './statistics/outcome-counts.js';
import { Remembered } from './waiting.js';

/*
 * What use cases work with, by capability. The type of a use case's first parameter names the capabilities that it and
 * the functions it calls use, and a front declares what its routes use together. Nothing takes a whole `Context`:
 * `.oxlintrc.json` forbids to import it anywhere but in the wiring.
 */

/** How old the accounts that will soon have no credits may be, in milliseconds: finding them reads many accounts. */
const NEAR_ZERO_KEPT_MS = 60_000;

/** Accounts and their ledgers. */
export interface Money extends Pick<Ports, 'accounts' | 'acceptances' | 'usage'> {
  readonly accountWriter: AccountWriter;
  /** The accounts that operators are shown because they will soon have no credits. */
  readonly nearZeroAccounts: Remembered<NearZero>;
}

/** Generations: their records, keys, queue and wake-ups, and the callers that wait for them. */
export interface Work extends Pick<
  Ports,
  'generations' | 'generationSearch' | 'claims' | 'fingerprints' | 'wakeUps' | 'halfHours'
> {
  readonly silentRetries: SilentRetries;
  readonly unchargedSums: UnchargedSums;
  readonly queuePositions: QueuePositions;
  /** The worker of this process, where it has one. */
  readonly localRuns: LocalRuns;
  readonly generationWatch: GenerationWatch;
  readonly appWatch: AppWatch;
  readonly lastingCalls: LastingCalls;
  /** Counts of the generations that this process has accepted and settled. */
  readonly outcomeCounts: OutcomeCounts;
  /** Called with the name of the row of `next-step.ts` that decided a step of a run; for tests. */
  readonly onRunStep?: (row: string) => void;
}

/** Uploads and outputs: their bytes, and what is needed to inspect, change, clean and sign them. */
export interface Files extends Pick<
  Ports,
  'uploads' | 'objects' | 'mediaProbe' | 'mediaCleaner' | 'outputSigner' | 'previews' | 'videoFrames' | 'masks'
> {
  /** The thumbnails that this process is making. */
  readonly thumbnailFlights: ThumbnailFlights;
}

/** API keys, people, their sessions and grants. */
export type Identity = Pick<Ports, 'credentials' | 'people' | 'artefacts' | 'passwords' | 'passkeys'>;

/** Models, and the providers that run them. */
export interface Models extends Pick<Ports, 'catalog' | 'catalogSource' | 'providers' | 'providerUses'> {
  readonly providerGates: ProviderGates;
}

/** Webhook endpoints, and deliveries to them. */
export type Webhooks = Pick<Ports, 'webhookEndpoints' | 'deliveries' | 'webhookSender'>;

/** The erasures that operators requested. */
export type Erasing = Pick<Ports, 'erasures'>;

/** This process and its machine. */
export interface Machine extends Pick<Ports, 'clock' | 'ids' | 'digests' | 'jsonSchemas' | 'topLevelDomains'> {
  readonly settings: Settings;
  readonly log: Log;
  /** Leases and claims of this process carry its id. */
  readonly boot: Boot;
}

/** The call that a use case runs for. */
export interface Call {
  /**
   * Set if the call can be cancelled. Reads end with the call. Writes that have started are completed: a half-finished
   * claim or hold would keep the key, or the credits, until recovery runs.
   */
  readonly call?: Cancellation | undefined;
}

/** All capabilities. */
export interface Context extends Money, Work, Files, Identity, Models, Webhooks, Erasing, Machine, Call {}

/**
 * The context that all use cases of a process share, with one account writer. Without a boot the process is treated as
 * one of several on the same stores; `changes` reports the writes of the others, if the store can. `settleWaitMs` is
 * how long a charge that releases nothing may wait for another write of its account.
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
    generations: withoutRemovedWords(watchedGenerations(ports.generations, ...watches), ports.generationSearch),
    acceptances,
    settings,
    log,
    boot,
    accountWriter: new AccountWriter({ ...ports, acceptances }, settleWaitMs),
    nearZeroAccounts: new Remembered(ports.clock, NEAR_ZERO_KEPT_MS),
    unchargedSums: new UnchargedSums(ports),
    thumbnailFlights: new ThumbnailFlights(),
    generationWatch,
    appWatch,
    lastingCalls: new LastingCalls(),
    outcomeCounts: new OutcomeCounts({ ...ports, log, boot }),
    silentRetries: new SilentRetries({ ...ports, settings, boot }),
    localRuns: new LocalRuns(),
    queuePositions,
    providerGates: new ProviderGates({ ...ports, settings, log, boot }),
  };
}
