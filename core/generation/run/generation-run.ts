import type { Model } from '../../catalog/model.js';
import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { ProviderFailure, ProviderReport, RecoverAnswer, SubmitAnswer } from '../../ports/provider.js';
import { changeGeneration } from '../change-generation.js';
import { wake, wakeAgain } from '../wake.js';
import type { Attempt, Generation, Output } from '../generation.js';
import { settleGeneration } from '../settle-generation.js';
import { taskError } from '../task-errors.js';
import { collectOutputs, removeCollected } from './collect-outputs.js';
import { failure, mayResubmit } from './failures.js';
import { LeaseHolder, LeaseLost, type HolderCommand } from './lease-holder.js';
import { CallGivenUp, isMadeObsolete, ProviderCalls } from './provider-calls.js';
import { submissionOf } from './submission.js';
import type { Execution } from './unknown-model.js';
import { boundedWaitMs, NudgeableSleep } from './waiting.js';

const MAX_SILENT_POLLS = 10;
/** What a provider has made is worth more than one try to fetch and store it. */
const MAX_COLLECTIONS = 4;
const MAX_UNKNOWN_REPORTS = 3;

type Step = 'go-on' | 'over';

/** What a run needs to know that the generation itself does not say. */
export interface RunOf extends Execution {
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
  private readonly calls: ProviderCalls;
  private stopping = false;
  /** Token of the attempt that we may hand over without asking the provider first. */
  private unsentToken: string | undefined;
  /** Token of an attempt that nobody ever handed over: we began it, and have not come to submitting it. */
  private neverSentToken: string | undefined;
  private silentPolls = 0;
  private unknownRounds = 0;
  private notYetAnswers = 0;
  private failedCollections = 0;
  private unknownReports = 0;
  /** The fence under which outputs were collected last: its keys are used up. */
  private collectedUnder: number | undefined;
  private isStoreAway = false;
  /** By our own clock: whoever asked may have another one. */
  private cancelSeenAt: number | undefined;

  constructor(private readonly context: Context, generation: Generation, private readonly of: RunOf) {
    this.rest = new NudgeableSleep(context.clock);
    this.calls = new ProviderCalls(context, of, generation.generationId);
    this.holder = new LeaseHolder(context, generation, (news) => { this.calls.abort(news); this.rest.nudge(); });
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
    this.calls.abort('stopping');
    this.rest.nudge();
  }

  /** The time to hand the lease back is over: ends what still keeps the run from doing so. */
  abandon(): void {
    this.calls.abort('out of grace');
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
    const { model } = this.of;
    if (this.stopping) return this.handBack(g);
    if (g.runDeadlineAt !== undefined && this.context.clock.now() > g.runDeadlineAt) return this.timeOut(g);
    if (g.cancelRequestedAt !== undefined) this.cancelSeenAt ??= this.context.clock.now();
    if (!g.attempt) return this.beginAttempt(g);
    if (this.context.clock.now() > this.graceEndsAt) return this.finish({ event: 'stop', outputs: [] });
    if (g.attempt.phase === 'submitted' && g.attempt.reference !== undefined) return this.follow(g, g.attempt.reference, model);
    if (g.attempt.token !== this.unsentToken) return this.findOut(g, g.attempt.token, model);
    if (g.cancelRequestedAt !== undefined) return this.finish({ event: 'stop', outputs: [] });
    return this.submit(g, g.attempt, model);
  }

  private async handBack(g: Generation): Promise<Step> {
    const isUnsent = g.attempt !== undefined && g.attempt.token === this.neverSentToken;
    const { generation } = await this.holder.write({ event: 'yield', isUnsent });
    wakeAgain(this.context, generation);
    return 'over';
  }

  private async timeOut(g: Generation): Promise<Step> {
    if (g.attempt?.reference !== undefined) await this.calls.askToStop(g.attempt.reference);
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

  /**
   * A submit that throws, or takes too long, may have been taken: from then on the provider is asked first. None begins under a
   * lease that has lapsed and may be another worker's; the next renewal tells.
   */
  private async submit(g: Generation, attempt: Attempt, model: Model): Promise<Step> {
    if (this.holder.hasLapsed) return this.restFor(g, this.backoffMs(1));
    this.unsentToken = undefined;
    this.neverSentToken = undefined;
    let answer: SubmitAnswer;
    try {
      answer = await this.calls.submit(submissionOf(this.context, g, model, attempt), this.timeLeftMs(g));
    } catch (error) {
      this.context.log.warn('submission of unknown outcome', { generationId: g.generationId, error });
      return 'go-on';
    }
    if (!answer.accepted) return this.attemptOver(answer.failure);
    await this.holder.write({ event: 'accepted', reference: answer.reference });
    return 'go-on';
  }

  private async findOut(g: Generation, token: string, model: Model): Promise<Step> {
    if (this.unknownRounds >= MAX_SILENT_POLLS) return this.attemptOver(failure('PROVIDER_UNAVAILABLE', mayResubmit(model)));
    let answer: RecoverAnswer;
    try {
      answer = await this.calls.recover(token, this.timeLeftMs(g));
    } catch (error) {
      if (isMadeObsolete(error)) return 'go-on';
      this.unknownRounds += 1;
      this.context.log.warn('provider did not say whether it has the task', { generationId: g.generationId, error });
      return this.restFor(g, this.backoffMs(this.unknownRounds));
    }
    if (answer !== 'unsupported' && answer.found === 'not-yet') return this.askAgain(g, answer.retryAfterMs);
    this.unknownRounds += 1;
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

  /** A provider that does not know yet is asked until it does: only the deadline, or the grace after a cancel, ends the waiting. */
  private async askAgain(g: Generation, retryAfterMs: number | undefined): Promise<Step> {
    this.notYetAnswers += 1;
    const leastMs = retryAfterMs === undefined ? this.backoffMs(this.notYetAnswers) : this.backoffMs(1);
    return this.restFor(g, boundedWaitMs(retryAfterMs, leastMs, this.context.settings.retryAfterCapMs));
  }

  private async follow(g: Generation, reference: string, model: Model): Promise<Step> {
    if (g.cancelRequestedAt !== undefined) await this.calls.askToStop(reference);
    let report: ProviderReport;
    try {
      report = await this.calls.poll(reference, this.timeLeftMs(g));
      this.silentPolls = 0;
    } catch (error) {
      if (isMadeObsolete(error)) return 'go-on';
      this.silentPolls += 1;
      this.context.log.warn('provider did not answer', { generationId: g.generationId, error });
      if (this.silentPolls >= MAX_SILENT_POLLS) {
        await this.calls.askToStop(reference);
        return this.attemptOver(failure('PROVIDER_UNAVAILABLE', mayResubmit(model)));
      }
      return this.restFor(g, this.backoffMs(this.silentPolls));
    }
    return this.act(g, report, reference, model);
  }

  private async act(g: Generation, report: ProviderReport, reference: string, model: Model): Promise<Step> {
    switch (report.state) {
      case 'running':
        if (report.progress !== undefined) this.holder.noteProgress(report.progress);
        return this.restFor(g, report.pollAfterMs !== undefined && report.pollAfterMs > 0 ? report.pollAfterMs : model.pollIntervalMs);
      case 'failed': return this.attemptOver(report.failure);
      case 'unknown': return this.forgotten(g, model);
      case 'succeeded':
      case 'cancelled': return this.deliver(g, report, reference);
    }
  }

  /** A provider that has taken a task and knows it no more may just be slow to tell its own parts: it is asked again. */
  private async forgotten(g: Generation, model: Model): Promise<Step> {
    this.unknownReports += 1;
    if (this.unknownReports >= MAX_UNKNOWN_REPORTS) return this.attemptOver(failure('PROVIDER_UNAVAILABLE', mayResubmit(model)));
    return this.restFor(g, this.backoffMs(this.unknownReports));
  }

  private async deliver(g: Generation, report: Extract<ProviderReport, { state: 'succeeded' | 'cancelled' }>, reference: string): Promise<Step> {
    let outputs: readonly Output[];
    let faults: readonly string[];
    const leased = g.fence === this.collectedUnder ? await this.leaseAnew(g) : g;
    this.collectedUnder = leased.fence;
    try {
      const { length } = report.outputs;
      ({ outputs, faults } = await this.calls.collect(this.timeLeftMs(leased), (call) => collectOutputs(this.context, this.of, leased, reference, length, call)));
    } catch (error) {
      if (error instanceof CallGivenUp) return 'go-on';
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
    return this.restFor(g, this.backoffMs(this.failedCollections));
  }

  /** This attempt came to nothing: another one later, if there may be one, else the end. */
  private async attemptOver({ code, message, mayRetry, retryAfterMs }: ProviderFailure): Promise<Step> {
    const g = await this.holder.refresh();
    if (g.cancelRequestedAt !== undefined) return this.finish({ event: 'stop', outputs: [], hasFailed: true });
    const retryAt = this.context.clock.now() + boundedWaitMs(retryAfterMs, this.backoffMs(g.attemptsMade), this.context.settings.retryAfterCapMs);
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

  /** Sleeps, but not past the time at which this generation ends whatever the provider says. */
  private async restFor(g: Generation, durationMs: number): Promise<Step> {
    await this.rest.sleep(Math.min(durationMs, this.timeLeftMs(g)));
    return 'go-on';
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
