import type { Files, Machine, Models, Money, Webhooks, Work } from '../../context.js';
import { hintsOf, type ProviderCost, type ProviderReport } from '../../ports/provider.js';
import type { Entry } from '../../providers/provider-gates.js';
import { WakeableDelay } from '../../waiting.js';
import type { HolderCommand } from '../decide.js';
import { type Attempt, type Generation, taskError } from '../generation.js';
import { changeGeneration, settleNowOrSoon } from '../settle-generation.js';
import { wake, wakeAgain } from '../wake.js';
import { RunOutputs } from './collect-outputs.js';
import { type Execution, hasOtherProvider, lastPeriodMs, notHereOf } from './executions.js';
import { LeaseHolder, LeaseLost, RetryBudget } from './lease.js';
import { type Ending, nextStep, type RunStep, timeLeftMs as timeLeftOf } from './next-step.js';
import { isMadeObsolete, ProviderCalls } from './provider-calls.js';
import {
  type FailedAttempt,
  type FinishedReport,
  mayResubmit,
  newRunState,
  type News,
  type RunState,
  type RunTime,
  type Silence,
  withGeneration,
  withNews,
  withSubmission,
  withUnsent,
} from './run-state.js';
import { type ModelRules, submitAttempt } from './submit-attempt.js';

/** How long a run waits before it requests a submission again, in milliseconds. */
const NO_ROOM_MS = 1_000;

/** Whether the run continues with its next step. */
type Went = 'on' | 'over';

/** The context of a run that the generation itself does not contain. */
export interface RunOf extends Execution {
  readonly entry: Entry;
  /** When the write that took the lease started, by the monotonic clock. */
  readonly leasedAt: number;
  /** Whether this run has just started the recorded attempt, so that no worker has sent it to the provider yet. */
  readonly isFresh: boolean;
}

/**
 * Runs one generation under one lease, until the generation ends, waits for a later attempt, or the lease is handed
 * back. `nextStep` decides each step and this class executes it. A step starts from the newest version, and every write
 * carries the fence.
 */
export class GenerationRun {
  readonly generationId: string;
  /** When the next attempt is due, once this run has left the generation until then. */
  leftUntil: number | undefined;
  /** The moving of the credits, once this run has ended the generation. */
  settling: Promise<unknown> | undefined;
  private readonly holder: LeaseHolder;
  private readonly rest: WakeableDelay;
  private readonly calls: ProviderCalls;
  private readonly outputs: RunOutputs;
  private readonly rules: ModelRules;
  private readonly retryBudget: RetryBudget;
  private state: RunState;
  /** Warnings that were logged once and are not repeated for this run. */
  private readonly hasWarnedOf = new Set<'status' | 'access'>();

  constructor(
    private readonly context: Money & Work & Files & Models & Webhooks & Machine,
    generation: Generation,
    private readonly of: RunOf,
  ) {
    this.generationId = generation.generationId;
    this.rest = new WakeableDelay(context.clock);
    this.calls = new ProviderCalls(context, of, generation.generationId);
    this.holder = new LeaseHolder(context, generation, of.leasedAt, (news) => {
      this.calls.abort(news);
      this.rest.wake();
    });
    this.outputs = new RunOutputs(context, of, this.holder, this.calls, (error) => this.silence(error));
    this.rules = rulesOf(context, generation, of);
    this.retryBudget = new RetryBudget(context, this.holder, this.rest);
    this.state = newRunState(of.isFresh ? generation.attempt?.token : undefined, context.clock.monotonic());
  }

  /** Something about the generation changed: look now. */
  wake(): void {
    this.rest.wake();
  }

  /** Hand the lease back at the next safe point. */
  stop(): void {
    this.state = { ...this.state, isStopping: true };
    this.calls.abort('stopping');
    this.rest.wake();
  }

  /** Called when the time to hand the lease back is over: ends whatever still prevents the run from doing so. */
  abandon(): void {
    this.retryBudget.end();
    this.calls.abort('out of grace');
  }

  /** The newest version of the generation that this run has read or written. */
  get lastKnown(): Generation {
    return this.holder.lastKnown;
  }

  /**
   * Never throws: after an internal failure the lease lapses, and recovery continues the generation. `abandoned`: its task
   * may go on at the provider.
   */
  async drive(): Promise<'over' | 'abandoned'> {
    try {
      while ((await this.step()) === 'on');
      return 'over';
    } catch (error) {
      if (!(error instanceof LeaseLost))
        this.context.log.warn('run abandoned', { generationId: this.generationId, error });
      return 'abandoned';
    } finally {
      this.holder.end();
    }
  }

  private async step(): Promise<Went> {
    const { news } = this.state;
    const g = news === undefined ? await this.refresh() : this.holder.generation;
    const { row, step } = nextStep(g, this.state, this.time(), this.rules);
    this.context.onRunStep?.(row);
    this.state = { ...this.state, news: undefined };
    return this.perform(g, step);
  }

  private async perform(g: Generation, step: RunStep): Promise<Went> {
    switch (step.do) {
      case 'hand-back':
        return this.handBack(step.isUnsent);
      case 'begin-attempt':
        return this.beginAttempt();
      case 'submit':
        return this.submit(g, step.attempt);
      case 'recover':
        return this.recover(g, step.token);
      case 'allow-submit':
        return this.allowSubmit(step);
      case 'accept':
        return this.accept({ event: 'accepted', reference: step.reference });
      case 'poll':
        return this.poll(g, step);
      case 'allow-last-poll':
        return this.allowLastPoll(g);
      case 'collect':
        return this.collect(g, step.reference, step.report);
      case 'inspect':
        return this.heard(await this.outputs.inspect(g, step.delivered));
      case 'end-attempt':
        return this.endAttempt({ failure: step.failure });
      case 'retry':
        return this.leaveUntil({ event: 'attempt-failed', retryAt: step.retryAt, isRefused: step.isRefused });
      case 'undo':
        return this.leaveUntil({ event: 'attempt-undone', retryAt: step.retryAt, ...notHereOf(step, this.of) });
      case 'rest':
        return this.restFor(step.ms);
      case 'finish':
        return this.finish(step.command, step.stopping);
    }
  }

  private async refresh(): Promise<Generation> {
    const g = await this.holder.refresh();
    this.state = withGeneration(this.state, g, this.context.clock.monotonic());
    return g;
  }

  private heard(news: News): Went {
    this.state = withNews(this.state, news);
    return 'on';
  }

  private async handBack(isUnsent: boolean): Promise<Went> {
    const { generation } = await this.holder.write({ event: 'yield', isUnsent });
    wakeAgain(this.context, generation);
    return 'over';
  }

  private async beginAttempt(): Promise<Went> {
    const token = this.context.ids.uuid();
    const provider = this.of.providerName;
    const { refused } = await this.holder.write({ event: 'begin-attempt', token, provider });
    // Another machine's clock may have been ahead of ours; its stored time counts, or we would retry for ever.
    if (refused === 'DEADLINE_PASSED') return this.finish({ event: 'fail', error: taskError('TASK_TIMEOUT') });
    if (refused === undefined)
      this.state = { ...withUnsent(this.state, token, this.context.clock.monotonic()), neverSentToken: token };
    return 'on';
  }

  /**
   * The task of a submit that throws or times out may have been accepted: from then on the provider is polled first.
   */
  private async submit(g: Generation, attempt: Attempt): Promise<Went> {
    const { clock } = this.context;
    const beganAt = clock.monotonic();
    const { of, holder, calls, outputs, retryBudget, rules } = this;
    const answer = await submitAttempt(this.context, { of, holder, calls, outputs, retryBudget, rules }, g, {
      attempt,
      recordedAt: this.state.submittedAt ?? beganAt,
      timeLeftMs: this.timeLeftMs(g),
      onBegun: () => {
        this.state = withSubmission(this.state);
      },
      onEnded: () => {
        this.state = { ...this.state, submissionEndedAt: clock.monotonic() };
      },
    });
    if (answer === 'no-room') return this.restFor(NO_ROOM_MS);
    if (typeof answer === 'string') return 'on';
    if ('cost' in answer && answer.cost !== undefined) this.state = { ...this.state, cost: answer.cost };
    if (!answer.accepted) {
      if (answer.because === 'capacity') this.of.entry.full(answer.failure);
      return this.endAttempt({ ...answer, isRefused: true });
    }
    this.of.entry.answered(clock.monotonic() - beganAt);
    const known = 'delivered' in answer ? { delivered: answer.delivered } : { reference: answer.reference };
    return this.accept({ event: 'accepted', ...known, ...this.cost() });
  }

  private async recover(g: Generation, token: string): Promise<Went> {
    const { clock } = this.context;
    const askedAt = clock.monotonic();
    try {
      const answer = await this.calls.recover(token, this.timeLeftMs(g));
      return this.heard({ of: 'recover', token, answer, askedAt, at: clock.monotonic() });
    } catch (error) {
      if (isMadeObsolete(error)) return 'on';
      this.context.log.warn('provider did not say whether it has the task', { generationId: g.generationId, error });
      return this.heard({ of: 'recover', token, answer: this.silence(error), askedAt, at: clock.monotonic() });
    }
  }

  private async allowSubmit({ token, afterMs, isNotTaken }: Extract<RunStep, { do: 'allow-submit' }>): Promise<Went> {
    if (afterMs > 0) await this.rest.sleep(afterMs);
    const { refused } = await this.holder.write({ event: 'submit-again', isNotTaken });
    if (refused === 'DEADLINE_PASSED') return this.finish({ event: 'fail', error: taskError('TASK_TIMEOUT') });
    if (refused === undefined) this.state = withUnsent(this.state, token, this.context.clock.monotonic());
    return 'on';
  }

  /** From here on the deadline is that of the period in which a result that is ready is still collected. */
  private async allowLastPoll(g: Generation): Promise<Went> {
    const periodMs = lastPeriodMs(this.context.settings, g);
    await this.retryBudget.try(() => this.holder.write({ event: 'allow-last-poll', periodMs }));
    return 'on';
  }

  private async accept(acceptance: Extract<HolderCommand, { event: 'accepted' }>): Promise<Went> {
    await this.retryBudget.try(() => this.holder.write(acceptance));
    return 'on';
  }

  private async poll(g: Generation, { reference, stopping }: Extract<RunStep, { do: 'poll' }>): Promise<Went> {
    if (stopping !== undefined) await this.calls.askToStop(stopping);
    const { clock, log } = this.context;
    const about = { of: 'poll', reference, askedAt: clock.monotonic(), isLast: g.lastPollBy !== undefined } as const;
    try {
      const report = await this.calls.poll(reference, this.timeLeftMs(g));
      if (report.state === 'running') this.noteRunning(report);
      return this.heard({ ...about, report, at: clock.monotonic() });
    } catch (error) {
      if (isMadeObsolete(error)) return 'on';
      log.warn('provider gave no report', { generationId: g.generationId, error });
      return this.heard({ ...about, report: this.silence(error), at: clock.monotonic() });
    }
  }

  private noteRunning({ progress, unknownStatus }: Extract<ProviderReport, { state: 'running' }>): void {
    if (progress !== undefined) this.holder.noteProgress(progress);
    if (unknownStatus === undefined || this.hasWarnedOf.has('status')) return;
    this.hasWarnedOf.add('status');
    const { generationId, of } = this;
    this.context.log.warn('provider reports a status that is not known', {
      generationId,
      provider: of.providerName,
      status: unknownStatus,
    });
  }

  /**
   * Converts the error of a failed call into a silent result. An operator has to act if the provider refuses the
   * credential.
   */
  private silence(error: unknown): Silence {
    const { retryAfterMs, isAccessRefused } = hintsOf(error);
    if (isAccessRefused === true && !this.hasWarnedOf.has('access')) {
      this.hasWarnedOf.add('access');
      const { generationId, of } = this;
      this.context.log.warn('provider refuses the credential', { generationId, provider: of.providerName, error });
    }
    return { state: 'silent', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }

  private async collect(g: Generation, reference: string, report: FinishedReport): Promise<Went> {
    const isLastTry = g.lastPollBy !== undefined;
    const task = { reference, report, isLastTry, timeLeftMs: () => this.timeLeftMs(g) };
    const news = await this.outputs.collect(g, task);
    if (news === undefined) return 'on';
    this.heard(news);
    // Only the newest version shows whether a stopped task was cancelled by its owner.
    if (news.of === 'collect' && report.state === 'cancelled') await this.refresh();
    return 'on';
  }

  private async endAttempt({ failure, because, isRefused }: FailedAttempt): Promise<Went> {
    await this.retryBudget.try(() => this.refresh());
    return this.heard({ of: 'ended-attempt', failure, because, isRefused });
  }

  private async leaveUntil(command: Extract<HolderCommand, { retryAt: number }>): Promise<Went> {
    await this.retryBudget.try(() => this.holder.write({ ...command, ...this.cost() }));
    wake(this.context, this.generationId, command.retryAt);
    this.leftUntil = command.retryAt;
    return 'over';
  }

  private async restFor(ms: number): Promise<Went> {
    await this.rest.sleep(ms);
    return 'on';
  }

  /** Writes the end, then starts to settle. An end that comes too late is only noted. */
  private async finish(command: Ending, stopping?: string): Promise<Went> {
    if (stopping !== undefined) await this.calls.askToStop(stopping);
    try {
      const { generation, refused } = await this.holder.write({ ...command, ...this.cost() });
      if (refused !== undefined) return 'on';
      this.holder.end();
      this.settling = settleNowOrSoon(this.context, generation, true);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      if (command.event === 'succeed')
        await changeGeneration(this.context, error.generation, { event: 'late-report', state: 'succeeded' });
    }
    return 'over';
  }

  /** The attempt's cost as reported by the provider, for the next write. */
  private cost(): { readonly cost?: ProviderCost } {
    const { cost } = this.state;
    return cost === undefined ? {} : { cost };
  }

  private timeLeftMs(g: Generation): number {
    return timeLeftOf({ g, state: this.state, time: this.time(), rules: this.rules });
  }

  private time(): RunTime {
    const { clock } = this.context;
    return { now: clock.now(), monotonic: clock.monotonic(), leaseHeldUntil: this.holder.leaseHeldUntil };
  }
}

/** The rules of the model, its provider and the settings that hold for a whole run. */
function rulesOf(context: Models & Machine, generation: Generation, execution: Execution): ModelRules {
  const { settings, boot } = context;
  const { model } = execution;
  const { answersWithOutputs, settleMs, isPaid } = execution.provider.capabilities(execution.settings);
  return {
    mayResubmit: mayResubmit(model),
    mayReplaceOutputs: (model.onInvalidOutput ?? (isPaid ? 'fail' : 'resubmit')) === 'resubmit',
    pollIntervalMs: model.pollIntervalMs,
    answersWithOutputs,
    settleMs,
    longestSubmitMs: answersWithOutputs ? generation.terms.runTimeoutMs : settings.providerCallMs,
    hasOtherProvider: hasOtherProvider(context, generation, execution),
    boot,
    settings,
  };
}
