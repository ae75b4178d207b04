import type { Model } from '../../catalog/model.js';
import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { Provider, ProviderFailure, ProviderReport } from '../../ports/provider.js';
import { changeGeneration } from '../change-generation.js';
import { wake, wakeAgain } from '../wake.js';
import type { Attempt, Generation, Output } from '../generation.js';
import { settleGeneration } from '../settle-generation.js';
import { taskError } from '../task-errors.js';
import { collectOutputs, removeCollected } from './collect-outputs.js';
import { failure, mayResubmit } from './failures.js';
import { LeaseHolder, LeaseLost, type HolderCommand } from './lease-holder.js';
import { submissionOf } from './submission.js';
import { NudgeableSleep, TimedOut, withTimeout } from './waiting.js';

const MAX_SILENT_POLLS = 10;
const CANCEL_AGAIN_MS = 10_000;
/** What a provider has made is worth more than one try to fetch and store it. */
const MAX_COLLECTIONS = 4;
const MAX_UNKNOWN_REPORTS = 3;

type Step = 'go-on' | 'over';

/** What a run needs to know that the generation itself does not say. */
export interface RunOf {
  readonly model: Model;
  readonly provider: Provider;
  /** Whether the attempt on record was begun by us just now, and so not handed over by anybody yet. */
  readonly isFresh: boolean;
}

/**
 * One worker's time with one generation, from taking the lease until it ends, parks for a later attempt, or hands the
 * lease back. Every step starts from the newest version, so that whatever happened meanwhile is seen; every write
 * carries the fence.
 */
export class GenerationRun {
  private readonly holder: LeaseHolder;
  private readonly rest: NudgeableSleep;
  private stopping = false;
  /** Token of the attempt that we may hand over without asking the provider first. */
  private unsentToken: string | undefined;
  /** Token of an attempt that nobody ever handed over: we began it, and have not come to submitting it. */
  private neverSentToken: string | undefined;
  private silentPolls = 0;
  private unknownRounds = 0;
  private failedCollections = 0;
  private unknownReports = 0;
  /** The fence under which outputs were collected last: its keys are used up. */
  private collectedUnder: number | undefined;
  private isStoreAway = false;
  private cancelAskedAt: number | undefined;
  /** By our own clock: whoever asked may have another one. */
  private cancelSeenAt: number | undefined;

  constructor(private readonly context: Context, generation: Generation, private readonly of: RunOf) {
    this.rest = new NudgeableSleep(context.clock);
    this.holder = new LeaseHolder(context, generation, () => this.rest.nudge());
    this.unsentToken = of.isFresh ? generation.attempt?.token : undefined;
    this.neverSentToken = this.unsentToken;
  }

  /** Something about the generation changed: look now. */
  nudge(): void {
    this.rest.nudge();
  }

  /** Hand the lease back at the next safe point. */
  stop(): void {
    this.stopping = true;
    this.rest.nudge();
  }

  /** Never throws: what goes wrong on our side leaves the lease to lapse, and recovery to go on. */
  async drive(): Promise<void> {
    try {
      while ((await this.step(await this.holder.refresh())) === 'go-on');
    } catch (error) {
      if (!(error instanceof LeaseLost)) this.context.log.warn('run abandoned', { generationId: this.holder.generation.generationId, error });
    } finally {
      this.holder.end();
    }
  }

  private async step(g: Generation): Promise<Step> {
    const { model, provider } = this.of;
    if (this.stopping) return this.handBack(g);
    if (g.runDeadlineAt !== undefined && this.context.clock.now() > g.runDeadlineAt) return this.timeOut(g, provider, model);
    if (g.cancelRequestedAt !== undefined) this.cancelSeenAt ??= this.context.clock.now();
    if (!g.attempt) return this.beginAttempt(g);
    if (this.context.clock.now() > this.graceEndsAt) return this.finish({ event: 'stop', outputs: [] });
    if (g.attempt.phase === 'submitted' && g.attempt.reference !== undefined) return this.follow(g, g.attempt.reference, provider, model);
    if (g.attempt.token !== this.unsentToken) return this.findOut(g, g.attempt.token, provider, model);
    if (g.cancelRequestedAt !== undefined) return this.finish({ event: 'stop', outputs: [] });
    return this.submit(g, g.attempt, provider, model);
  }

  private async handBack(g: Generation): Promise<Step> {
    const isUnsent = g.attempt !== undefined && g.attempt.token === this.neverSentToken;
    const { generation } = await this.holder.write({ event: 'yield', isUnsent });
    wakeAgain(this.context, generation);
    return 'over';
  }

  private async timeOut(g: Generation, provider: Provider, model: Model): Promise<Step> {
    if (g.attempt?.reference !== undefined) await this.askToStop(g.attempt.reference, provider, model);
    return this.finish({ event: 'fail', error: taskError(this.isStoreAway ? 'OUTPUT_STORE_FAILED' : 'TASK_TIMEOUT') });
  }

  private async beginAttempt(g: Generation): Promise<Step> {
    if (g.cancelRequestedAt !== undefined) return this.finish({ event: 'stop', outputs: [] });
    const token = this.context.ids.uuid();
    const { refused } = await this.holder.write({ event: 'begin-attempt', token });
    // Another machine's clock may have been ahead of ours; what it wrote counts, or we would ask for ever.
    if (refused === 'DEADLINE_PASSED') return this.finish({ event: 'fail', error: taskError('TASK_TIMEOUT') });
    if (refused === undefined) this.unsentToken = this.neverSentToken = token;
    return 'go-on';
  }

  /** A submit that throws, or takes too long, may have been taken: from then on the provider is asked first. */
  private async submit(g: Generation, attempt: Attempt, provider: Provider, model: Model): Promise<Step> {
    this.unsentToken = undefined;
    this.neverSentToken = undefined;
    let answer: Awaited<ReturnType<Provider['submit']>>;
    try {
      answer = await this.inTime(provider.submit(submissionOf(this.context, g, model, attempt)));
    } catch (error) {
      this.context.log.warn('submission of unknown outcome', { generationId: g.generationId, error });
      return 'go-on';
    }
    if (!answer.accepted) return this.attemptOver(answer.failure);
    await this.holder.write({ event: 'accepted', reference: answer.reference });
    return 'go-on';
  }

  private async findOut(g: Generation, token: string, provider: Provider, model: Model): Promise<Step> {
    this.unknownRounds += 1;
    if (this.unknownRounds > MAX_SILENT_POLLS) return this.attemptOver(failure('PROVIDER_UNAVAILABLE', mayResubmit(model)));
    let answer: Awaited<ReturnType<Provider['recover']>>;
    try {
      answer = await this.inTime(provider.recover(token, model.providerSettings));
    } catch (error) {
      this.context.log.warn('provider did not say whether it has the task', { generationId: g.generationId, error });
      await this.restFor(g, this.backoffMs(this.unknownRounds));
      return 'go-on';
    }
    if (answer !== 'unsupported' && answer.found) {
      await this.holder.write({ event: 'accepted', reference: answer.reference });
      return 'go-on';
    }
    if (g.cancelRequestedAt !== undefined) return this.finish({ event: 'stop', outputs: [] });
    if (answer === 'unsupported' && !mayResubmit(model)) return this.attemptOver(failure('PROVIDER_UNAVAILABLE', false));
    if (this.unknownRounds > 1) await this.restFor(g, this.backoffMs(this.unknownRounds - 1));
    this.unsentToken = token;
    return 'go-on';
  }

  private async follow(g: Generation, reference: string, provider: Provider, model: Model): Promise<Step> {
    if (g.cancelRequestedAt !== undefined) {
      await this.askToStop(reference, provider, model);
    }
    let report: ProviderReport;
    try {
      report = await this.inTime(provider.poll(reference, model.providerSettings));
      this.silentPolls = 0;
    } catch (error) {
      this.silentPolls += 1;
      this.context.log.warn('provider did not answer', { generationId: g.generationId, error });
      if (this.silentPolls >= MAX_SILENT_POLLS) {
        await this.askToStop(reference, provider, model);
        return this.attemptOver(failure('PROVIDER_UNAVAILABLE', mayResubmit(model)));
      }
      await this.restFor(g, this.backoffMs(this.silentPolls));
      return 'go-on';
    }
    return this.act(g, report, reference, provider, model);
  }

  private async act(g: Generation, report: ProviderReport, reference: string, provider: Provider, model: Model): Promise<Step> {
    switch (report.state) {
      case 'running':
        if (report.progress !== undefined) this.holder.noteProgress(report.progress);
        await this.restFor(g, report.pollAfterMs !== undefined && report.pollAfterMs > 0 ? report.pollAfterMs : model.pollIntervalMs);
        return 'go-on';
      case 'failed': return this.attemptOver(report.failure);
      case 'unknown': return this.forgotten(g, model);
      case 'succeeded':
      case 'cancelled': return this.deliver(g, report, reference, provider, model);
    }
  }

  /** A provider that has taken a task and knows it no more may just be slow to tell its own parts: it is asked again. */
  private async forgotten(g: Generation, model: Model): Promise<Step> {
    this.unknownReports += 1;
    if (this.unknownReports >= MAX_UNKNOWN_REPORTS) return this.attemptOver(failure('PROVIDER_UNAVAILABLE', mayResubmit(model)));
    await this.restFor(g, this.backoffMs(this.unknownReports));
    return 'go-on';
  }

  private async deliver(
    g: Generation, report: Extract<ProviderReport, { state: 'succeeded' | 'cancelled' }>, reference: string, provider: Provider, model: Model,
  ): Promise<Step> {
    let outputs: readonly Output[];
    let faults: readonly string[];
    const leased = g.fence === this.collectedUnder ? await this.leaseAnew(g) : g;
    this.collectedUnder = leased.fence;
    try {
      const collecting = collectOutputs(this.context, provider, model, leased, reference, report.outputs.length);
      ({ outputs, faults } = await withTimeout(this.context.clock, this.timeLeftMs(leased), collecting));
    } catch (error) {
      if (error instanceof TimedOut) return 'go-on';
      this.context.log.warn('outputs not collected', { generationId: g.generationId, error });
      return this.collectAgain(g, error instanceof StoreUnavailable);
    }
    if (faults.length > 0) this.context.log.warn('outputs left out', { generationId: g.generationId, faults });
    if (report.state === 'succeeded') {
      return outputs.length > 0 ? this.finish({ event: 'succeed', outputs }) : this.attemptOver(failure('OUTPUT_INVALID', true));
    }
    const { cancelRequestedAt } = await this.holder.refresh();
    return cancelRequestedAt === undefined ? this.attemptOver(failure('PROVIDER_REJECTED', true)) : this.finish({ event: 'stop', outputs });
  }

  /** What was collected so far is of no use under the next fence; what cannot be removed now goes with retention. */
  private async leaseAnew(g: Generation): Promise<Generation> {
    const leased = await this.holder.reLease();
    await removeCollected(this.context, g, g.fence).catch(() => undefined);
    return leased;
  }

  /** While our own store is away there is nothing to ask the provider for again; only the deadline ends the waiting. */
  private async collectAgain(g: Generation, isStoreAway: boolean): Promise<Step> {
    this.isStoreAway = isStoreAway;
    this.failedCollections += 1;
    if (!isStoreAway && this.failedCollections >= MAX_COLLECTIONS) return this.attemptOver(failure('OUTPUT_INVALID', true));
    await this.restFor(g, this.backoffMs(this.failedCollections));
    return 'go-on';
  }

  /** This attempt came to nothing: another one later, if there may be one, else the end. */
  private async attemptOver({ code, message, mayRetry }: ProviderFailure): Promise<Step> {
    const g = await this.holder.refresh();
    if (g.cancelRequestedAt !== undefined) return this.finish({ event: 'stop', outputs: [], hasFailed: true });
    const retryAt = this.context.clock.now() + this.backoffMs(g.attemptsMade);
    const inTime = g.runDeadlineAt === undefined || retryAt < g.runDeadlineAt;
    if (!mayRetry || g.attemptsMade >= g.terms.maxAttempts || !inTime) return this.finish({ event: 'fail', error: taskError(code, message) });
    await this.holder.write({ event: 'attempt-failed', retryAt });
    wake(this.context, g.generationId, retryAt);
    return 'over';
  }

  /** Writes the end, then settles. Whoever comes too late with an end leaves a note of it, and nothing else. */
  private async finish(command: Extract<HolderCommand, { event: 'succeed' | 'fail' | 'stop' }>): Promise<Step> {
    try {
      const { generation, refused } = await this.holder.write(command);
      if (refused !== undefined) return 'go-on';
      this.holder.end();
      await settleGeneration(this.context, generation);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      if (command.event === 'succeed') await changeGeneration(this.context, error.generation, { event: 'late-report', state: 'succeeded' });
    }
    return 'over';
  }

  private async askToStop(reference: string, provider: Provider, model: Model): Promise<void> {
    const now = this.context.clock.now();
    if (this.cancelAskedAt !== undefined && now - this.cancelAskedAt < CANCEL_AGAIN_MS) return;
    this.cancelAskedAt = now;
    await this.inTime(provider.cancel(reference, model.providerSettings)).catch((error: unknown) => {
      this.context.log.warn('provider could not be asked to stop', { generationId: this.holder.generation.generationId, error });
    });
  }

  private inTime<T>(work: Promise<T>): Promise<T> {
    return withTimeout(this.context.clock, this.context.settings.providerCallMs, work);
  }

  /** Sleeps, but not past the time at which this generation ends whatever the provider says. */
  private restFor(g: Generation, durationMs: number): Promise<void> {
    return this.rest.sleep(Math.min(durationMs, this.timeLeftMs(g)));
  }

  /** Until the deadline, or the end of the provider's grace after a cancel, has just passed. */
  private timeLeftMs(g: Generation): number {
    const endsAt = Math.min(g.runDeadlineAt ?? Infinity, this.graceEndsAt);
    return Math.max(0, endsAt - this.context.clock.now()) + 1;
  }

  /** How long a provider that was asked to stop, or cannot say whether it has the task, is waited for. */
  private get graceEndsAt(): number {
    return (this.cancelSeenAt ?? Infinity) + this.context.settings.cancelGraceMs;
  }

  private backoffMs(tries: number): number {
    const { retryBaseMs, retryCapMs } = this.context.settings;
    return Math.min(retryCapMs, retryBaseMs * 2 ** Math.min(tries - 1, 20));
  }
}
