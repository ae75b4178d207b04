import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../../core/json.js';
import { textOf } from '../../history/values.js';
import { type ApiClient, Recorder } from '../clients/api-client.js';
import { Audience } from '../clients/audience.js';
import { ClientPool } from '../clients/client-pool.js';
import { ForeignIdProber, OrdinaryClient } from '../clients/ordinary-client.js';
import { Uploader } from '../clients/uploader.js';
import { drawEdit, drawVendorWish } from '../clients/wishes.js';
import { drawsFrom } from '../draws.js';
import { findAtRest } from '../harness/at-rest.js';
import { ProcessorWaits } from '../harness/counted-port.js';
import type { Installation } from '../harness/installation.js';
import { QUEUE_TIMEOUT_MS, RUN_TIMEOUT_MS, STOP_GRACE_MS } from '../harness/settings.js';
import { slowAnswers } from '../harness/troubled-s3.js';
import type { AtRest, History, Span } from '../../history/recorded/history.js';
import { VENDOR_TERMS } from '../vendors/vendor-models.js';
import { tellFigures, whatIsMissing } from './figures.js';
import { openPoor, playRound } from './play-round.js';
import { describeRound, type Round } from './schedule.js';
import { Settling } from './settle.js';
import type { Struck } from './struck.js';

const CLIENTS = 6;
const VENDOR_CLIENTS = 4;
const UPLOADERS = 2;
const GRANTED = 1_000_000;
/**
 * Time that leases, recovery, graces and retries may add to a deadline, on a machine that is busy with five processes.
 */
const SLACK_MS = 60_000;
/**
 * How long recovery may postpone something whose wake-up it sent again, when that one was lost too; and then the work
 * still has to be done.
 */
const ENOUGH_CALM_MS = 90_000;
/** How long effects of trouble last after it is over: a lease, recovery's grace and one recovery pass. */
const AFTERMATH_MS = 6_000;
/** MongoDB has a limit of two seconds; the rest is for a busy machine. */
const WRITING_MS = 3_000;
/** How long before the report of a failure the failed call may have been made, or the lapsed lease taken. */
const LONGEST_WAIT_MS = 3_000;
const LOOK_EVERY_MS = 500;
const LOOK_AT_WAITS_EVERY_MS = 1_000;
/** Load between two rounds, after everything was healed: enough to see that it was. */
const CALM_MS = 1_000;
const EXACT_BURSTS = 3;
const MOST_BURSTS = 12;

/**
 * One run over one installation: rounds of faults under load, then quiet, then the collection of the complete history.
 */
export class Run {
  private readonly recorder = new Recorder();
  private readonly pool: ClientPool;
  private readonly audience: Audience | undefined;
  /** The effects of faults in the rounds so far. */
  readonly struck: Struck[] = [];
  private readonly recoveriesMs: number[] = [];
  private readonly complained: string[] = [];
  private readonly startedAt = Date.now();
  private underFaultsMs = 0;
  /** From each round's first fault until everything was healed. */
  private readonly troubles: Span[] = [];
  /** Periods in which workers may have lost the work that they had in flight. */
  private readonly lostWorkers: Span[] = [];
  private readonly waits: ProcessorWaits;
  /** Work that continues beyond its round. */
  private readonly aftermaths: Promise<void>[] = [];
  private isLoaded = true;
  private readonly over = new AbortController();
  private readonly signal: AbortSignal;

  /** Everything in a run ends with the run, and with the signal. */
  constructor(
    private readonly installation: Installation,
    private readonly rounds: readonly Round[],
    private readonly seed: number,
    private readonly again: string,
    signal: AbortSignal,
    /** How long clients follow their accepted generations after the last fault. */
    private readonly settleMs = QUEUE_TIMEOUT_MS + RUN_TIMEOUT_MS + SLACK_MS,
  ) {
    this.signal = AbortSignal.any([signal, this.over.signal]);
    // Faults, revocations and waiting clients each add a listener.
    setMaxListeners(0, this.signal);
    this.pool = new ClientPool(installation.operator.context, installation.urls, this.recorder);
    this.waits = new ProcessorWaits({
      pids: () => [process.pid, ...installation.processes.flatMap(({ pid }) => pid ?? [])],
      now: () => this.recorder.now(),
    });
    this.audience = installation.isWatched ? new Audience(installation, this.pool, this.signal) : undefined;
  }

  async play(): Promise<History> {
    const looks = setInterval(() => this.waits.look(), LOOK_AT_WAITS_EVERY_MS);
    try {
      return await this.playToTheEnd();
    } finally {
      clearInterval(looks);
      this.over.abort();
    }
  }

  private async playToTheEnd(): Promise<History> {
    const { installation, pool, recorder } = this;
    await Promise.all(installation.processes.map((process) => process.ensureServing()));
    await this.playRounds();
    await Promise.all(this.aftermaths);

    const quietAt = recorder.now();
    this.underFaultsMs = Date.now() - this.startedAt;
    const until = quietAt + this.settleMs;
    const settling = new Settling(recorder, pool, quietAt, this.signal);
    await settling.learnOutcomes(until);
    await this.burstExactly();
    if (installation.vendors !== undefined) await pool.fillRoute();
    await settling.learnOutcomes(until);
    await settling.follow(until);
    await this.untilSettled(until);
    await this.audience?.untilTold(until);
    const told = await this.audience?.history();
    const models = await this.models();
    await this.stopAll();
    const { parties, granted, bursts, revocations } = pool;
    const secrets = [...pool.secrets, ...installation.secrets];
    const facts = {
      parties,
      granted,
      bursts,
      revocations,
      secrets,
      models,
      quietAt,
      ...this.trouble(),
      enoughCalmMs: ENOUGH_CALM_MS,
      writingMs: WRITING_MS,
      slackMs: SLACK_MS,
      hasOlderProcesses: installation.hasOlderProcesses,
    };
    return { facts, exchanges: recorder.exchanges, atRest: await this.atRest(), ...this.vendors(), ...told };
  }

  /** Errors of the processes themselves, and what the run shows too rarely to prove anything. */
  complaints(history: History): string[] {
    return [
      ...this.installation.processes.flatMap(({ crashes }) => crashes),
      ...this.complained,
      ...whatIsMissing(history, this.rounds.length),
    ];
  }

  figures(history: History): string[] {
    const starts = this.installation.processes.reduce((sum, process) => sum + process.starts, 0);
    return tellFigures(history, {
      struck: this.struck,
      recoveriesMs: this.recoveriesMs,
      starts,
      underFaultsMs: this.underFaultsMs,
      starvedInCalm: this.waits.spans.filter(({ from }) => from >= history.facts.quietAt).length,
      wallMs: Date.now() - this.startedAt,
    });
  }

  private async playRounds(): Promise<void> {
    const { pool, seed } = this;
    const rich = await pool.openAccount('rich', GRANTED);
    const neighbour = await pool.addApp('neighbour', rich.party);
    const other = await pool.openAccount('other', GRANTED);
    const shouldContinue = () => this.isLoaded && !this.signal.aborted;
    const draw = (index: number) => drawsFrom(seed * 100 + index);
    const hasVendors = this.installation.vendors !== undefined;
    const wish = hasVendors ? ([drawEdit] as const) : [];
    const uploadId = hasVendors ? await new Uploader(rich, draw(52)).ready(shouldContinue) : undefined;
    await this.audience?.gather(rich, other, draw);
    const load = Promise.all([
      this.audience?.load(shouldContinue),
      ...Array.from({ length: CLIENTS }, (_, index) =>
        new OrdinaryClient(index % 3 === 2 ? other : rich, draw(index)).run(shouldContinue),
      ),
      ...Array.from({ length: hasVendors ? VENDOR_CLIENTS : 0 }, (_, index) =>
        new OrdinaryClient(index % 2 === 0 ? other : rich, draw(70 + index), drawVendorWish).run(shouldContinue),
      ),
      ...Array.from({ length: UPLOADERS }, (_, index) =>
        new Uploader(index === 0 ? rich : other, draw(50 + index), ...wish).run(shouldContinue),
      ),
      new ForeignIdProber(other, draw(60)).run(shouldContinue),
      new ForeignIdProber(neighbour, draw(61)).run(shouldContinue),
    ]);
    // A failure of the load is reported at the end of the rounds.
    load.catch(() => undefined);
    try {
      for (const round of this.rounds) await this.playRound(round, rich, uploadId);
    } finally {
      this.isLoaded = false;
      await load;
    }
  }

  private async playRound(round: Round, rich: ApiClient, uploadId: string | undefined): Promise<void> {
    try {
      const { aftermath, trouble, struck, lostWorkers } = await playRound(round, {
        installation: this.installation,
        pool: this.pool,
        rich,
        ...(uploadId === undefined ? {} : { uploadId }),
        seed: this.seed,
        signal: this.signal,
      });
      this.aftermaths.push(aftermath);
      this.troubles.push(trouble);
      this.struck.push(...struck);
      this.lostWorkers.push(...lostWorkers);
      const watched = this.recorder.watchForSuccess();
      await this.pause(CALM_MS);
      while (watched.firstSuccessMs() === undefined) await this.pause(20);
      this.recoveriesMs.push(watched.firstSuccessMs() ?? 0);
    } catch (error) {
      throw new Error(`${describeRound(round)} could not be played to its end. ${this.again}`, { cause: error });
    }
  }

  /** If a client times out on a busy machine, the burst is inexact, and another is tried. */
  private async burstExactly(): Promise<void> {
    let exact = 0;
    for (let number = 1; number <= MOST_BURSTS && exact < EXACT_BURSTS; number += 1) {
      this.signal.throwIfAborted();
      if (
        await this.pool.burst(
          await openPoor(this.pool, `exact-${number}`, {
            balance: 9,
            isCapped: number % 2 === 0 && !this.installation.hasOlderProcesses,
          }),
          {
            balance: 9,
            creates: 7,
            cost: 2,
            mayBeExact: true,
          },
        )
      )
        exact += 1;
    }
    if (exact < EXACT_BURSTS)
      this.complained.push(`Only ${exact} of ${MOST_BURSTS} bursts were answered at once while nothing went wrong.`);
  }

  /** A generation's end is visible before its hold is settled; recovery completes interrupted settlements. */
  private async untilSettled(until: number): Promise<void> {
    const { context } = this.installation.operator;
    while (this.recorder.now() < until) {
      const accounts = await Promise.all(this.pool.parties.map(({ accountId }) => context.accounts.read(accountId)));
      if (accounts.every((account) => account?.holds.size === 0)) break;
      await this.pause(LOOK_EVERY_MS);
    }
    // The settled mark is written after the hold is released.
    await this.pause(LOOK_EVERY_MS);
  }

  private async stopAll(): Promise<void> {
    await Promise.all(
      this.installation.processes.map(async (process) => {
        const how = await process.stop(STOP_GRACE_MS + SLACK_MS);
        if (how !== 0) this.complained.push(`${process.name} was asked to stop at rest, and ended with ${how}`);
      }),
    );
  }

  private pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.signal });
  }

  private async models(): Promise<JsonObject[]> {
    const response = await fetch(`${this.installation.urls['rest-1']}/api/v1/developer/models`);
    return ((await response.json()) as { data: { models: JsonObject[] } }).data.models;
  }

  /** Faults, and periods without timely answers: a machine too busy to answer is a fault too. */
  private trouble(): Pick<History['facts'], 'troubles' | 'troubledUntil'> {
    const slow = this.slowTimes();
    const rounds = this.troubles.map(({ from, until }) => ({ from, until: until + AFTERMATH_MS }));
    return {
      troubles: [...rounds, ...slow],
      troubledUntil: Math.max(0, ...slow.map(({ until }) => until - AFTERMATH_MS)),
    };
  }

  /**
   * Periods in which stores did not answer, answers to clients were slow or processes hardly ran, and their aftermath.
   */
  private slowTimes(): Span[] {
    const stores = this.installation.processes.flatMap(({ storeTroubles }) => storeTroubles);
    return [...stores, ...slowAnswers(this.recorder.exchanges), ...this.waits.spans].map(({ from, until }) => ({
      from: from - LONGEST_WAIT_MS,
      until: until + AFTERMATH_MS,
    }));
  }

  private vendors(): Pick<History, 'vendors'> {
    const { vendors } = this.installation;
    if (vendors === undefined) return {};
    const lostWorkers = this.lostWorkers.map(({ from, until }) => ({ from, until: until + AFTERMATH_MS }));
    return {
      vendors: { ...vendors.history(), terms: VENDOR_TERMS, lostWorkers: [...lostWorkers, ...this.slowTimes()] },
    };
  }

  private atRest(): Promise<AtRest> {
    const told = (field: string) =>
      this.recorder.exchanges.flatMap(({ answered }) => {
        const id = answered?.answer.data?.[field];
        return id === undefined ? [] : [textOf(id)];
      });
    return findAtRest(this.installation, told('upload_id'), told('generation_id'));
  }
}
