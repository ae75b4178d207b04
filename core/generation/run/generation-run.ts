import type { Files, Machine, Models, Money, Webhooks, Work } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import { hintsOf, type ProviderCost, type ProviderReport } from '../../ports/provider.js';
import type { Entry } from '../../providers/provider-gates.js';
import { backoffMs } from '../../settings.js';
import { WakeableDelay } from '../../waiting.js';
import type { HolderCommand } from '../decide.js';
import {
  type Attempt,
  type DeliveredObject,
  type Generation,
  type Output,
  runEndsAt,
  taskError,
} from '../generation.js';
import { changeGeneration, settleNowOrSoon } from '../settle-generation.js';
import { wake, wakeAgain } from '../wake.js';
import { type Collected, collectOutputs, type Fault, inspectDelivered, removeCollected } from './collect-outputs.js';
import { type Execution, hasOtherProvider, notHereOf } from './executions.js';
import { LeaseHolder, LeaseLost } from './lease.js';
import { type Ending, nextStep, type RunRules, type RunStep, timeLeftMs as timeLeftOf } from './next-step.js';
import { lastPeriodMs } from './overdue.js';
import { CallGivenUp, handOver, isMadeObsolete, ProviderCalls, type Submitted } from './provider-calls.js';
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

type OutputNews = Extract<News, { of: 'collect' | 'failed-collect' }>;

interface Finished {
  readonly reference: string;
  readonly report: FinishedReport;
  readonly timeLeftMs: () => number;
  /** Whether the deadline has passed: then what does not arrive is left out where something else does. */
  readonly isLastTry: boolean;
}

/** Brings the outputs of one run into the object store, each time under a fence whose keys are unused. */
export class RunOutputs {
  /** The fence under which outputs were written last: its keys are used up. */
  private writtenUnder: number | undefined;
  /** What has arrived of the task, by the index of the output, under whichever fence. */
  private readonly arrived = new Map<number, Output | Fault>();

  constructor(
    private readonly context: Files & Machine,
    private readonly of: Execution,
    private readonly holder: LeaseHolder,
    private readonly calls: ProviderCalls,
    /** What a failed call leaves to be known. */
    private readonly silenceOf: (error: unknown) => Silence,
  ) {}

  /** Whether something was, or may have been, written under the generation's fence. */
  hasUsedKeys(g: Generation): boolean {
    return g.fence === this.writtenUnder;
  }

  /**
   * Takes a fence whose keys are unused. What was written before and has not arrived is useless; retention removes what is
   * left of it.
   */
  async renewKeys(g: Generation): Promise<Generation> {
    const leased = await this.holder.reLease();
    await removeCollected(this.context, g, g.fence, this.arrived).catch(() => undefined);
    return leased;
  }

  /** Takes another fence for some of the outputs; what was written under this one stays. */
  async otherKeys(): Promise<Generation> {
    const leased = await this.holder.reLease();
    this.useKeys(leased);
    return leased;
  }

  /** From now on the keys of the generation's fence count as used. */
  useKeys(g: Generation): void {
    this.writtenUnder = g.fence;
  }

  /** Fetches and checks what a finished task has; undefined when the fetching was abandoned. */
  async collect(
    g: Generation,
    { reference, report, timeLeftMs, isLastTry }: Finished,
  ): Promise<OutputNews | undefined> {
    const leased = this.hasUsedKeys(g) ? await this.renewKeys(g) : g;
    this.useKeys(leased);
    try {
      const { length } = report.outputs;
      const { arrived } = this;
      const collected = await this.calls.collect(timeLeftMs(), (call) =>
        collectOutputs(this.context, this.of, leased, {
          reference,
          offered: length,
          isLastTry,
          arrived,
          call,
          otherKeys: async () => this.otherKeys(),
        }),
      );
      return this.collected(g, report, collected);
    } catch (error) {
      return isMadeObsolete(error) ? undefined : this.notCollected(g, error);
    }
  }

  /** Checks what the provider gave in its answer to the submission. */
  async inspect(g: Generation, delivered: readonly DeliveredObject[]): Promise<OutputNews> {
    try {
      return this.collected(g, { state: 'succeeded' }, await inspectDelivered(this.context, this.of, g, delivered));
    } catch (error) {
      return this.notCollected(g, error);
    }
  }

  private collected(
    { generationId }: Generation,
    { state }: Pick<FinishedReport, 'state'>,
    { outputs, faults }: Collected,
  ): OutputNews {
    if (faults.length > 0) this.context.log.warn('outputs left out', { generationId, faults });
    return { of: 'collect', report: { state }, outputs };
  }

  private notCollected({ generationId }: Generation, error: unknown): OutputNews {
    this.context.log.warn('outputs not collected', { generationId, error });
    const { retryAfterMs } = this.silenceOf(error);
    return {
      of: 'failed-collect',
      isStoreAway: error instanceof StoreUnavailable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
}

/**
 * Keeps what a provider has answered for as long as our own store is unavailable and the answer is of use: nobody else
 * knows it.
 */
export class Patience {
  private isOver = false;

  constructor(
    private readonly context: Machine,
    private readonly holder: Pick<LeaseHolder, 'lastKnown'>,
    private readonly rest: WakeableDelay,
  ) {}

  /** This process waits no longer. */
  end(): void {
    this.isOver = true;
    this.rest.wake();
  }

  /** Tries until the store answers. Throws `StoreUnavailable` past the end of the run. */
  async try<T>(work: () => Promise<T>): Promise<T> {
    const { clock, settings, log } = this.context;
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        const { lastKnown } = this.holder;
        const { generationId } = lastKnown;
        if (!(error instanceof StoreUnavailable) || clock.now() > runEndsAt(lastKnown) || this.isOver) throw error;
        log.warn('answer of a provider not recorded yet', { generationId, error });
        await this.rest.sleep(backoffMs(settings, tries));
      }
    }
  }
}

/** What one run submits with. */
export interface SubmitsWith {
  readonly of: Execution & { readonly entry: Entry };
  readonly holder: LeaseHolder;
  readonly calls: ProviderCalls;
  readonly outputs: RunOutputs;
  readonly patience: Patience;
  readonly rules: RunRules & { readonly answersWithOutputs: boolean };
}

export interface OneSubmission {
  readonly attempt: Attempt;
  /** When it was recorded that the attempt is submitted, by the monotonic clock. */
  readonly recordedAt: number;
  readonly timeLeftMs: number;
  /** Called when the attempt is handed to the provider: from then on it may have been accepted. */
  readonly onBegun: () => void;
  /** Called when the call has ended and the outcome is unknown. */
  readonly onEnded: () => void;
}

/** Submits the attempts of one run. */
export class RunSubmissions {
  constructor(
    private readonly context: Files & Machine,
    private readonly by: SubmitsWith,
  ) {}

  /**
   * `not-begun`: something changed first, and the next step is to be decided again. `no-room`: the provider has no slot or no
   * submission for it now; those that the run began with may have lapsed. `unknown`: the provider may have accepted it.
   */
  async submit(
    g: Generation,
    { attempt, recordedAt, timeLeftMs, onBegun, onEnded }: OneSubmission,
  ): Promise<Submitted | 'not-begun' | 'no-room' | 'unknown'> {
    const { of, holder, calls, outputs, patience, rules } = this.by;
    if (rules.answersWithOutputs && outputs.hasUsedKeys(g)) {
      await outputs.renewKeys(g);
      return 'not-begun';
    }
    const { clock } = this.context;
    const [wall, monotonic] = [clock.now(), clock.monotonic()];
    const endsAt = {
      wall: Math.min(wall + timeLeftMs, attempt.startedAt + rules.longestSubmitMs),
      monotonic: Math.min(monotonic + timeLeftMs, recordedAt + rules.longestSubmitMs),
    };
    if (endsAt.wall <= wall || endsAt.monotonic <= monotonic || holder.leaseHeldUntil <= monotonic) return 'not-begun';
    if (!of.entry.maySubmit()) return 'no-room';
    if (rules.answersWithOutputs) outputs.useKeys(g);
    onBegun();
    of.entry.submitting();
    try {
      return await handOver(this.context, calls, of, g, {
        attempt,
        timeLeftMs,
        endsAt,
        otherKeys: () => outputs.otherKeys(),
      });
    } catch (error) {
      this.context.log.warn('submission of unknown outcome', { generationId: g.generationId, error });
      if (!(error instanceof CallGivenUp)) onEnded();
      if (!(error instanceof CallGivenUp)) await patience.try(() => holder.write({ event: 'submission-ended' }));
      return 'unknown';
    }
  }
}

/** What of the model, its provider and the settings holds for a whole run. */
export function rulesOf(
  context: Models & Machine,
  generation: Generation,
  execution: Execution,
): RunRules & { readonly answersWithOutputs: boolean } {
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

type Went = 'on' | 'over';
/** How long a run waits before it asks again for room for its submission, in milliseconds. */
const NO_ROOM_MS = 1_000;

/** What a run needs to know that the generation itself does not say. */
export interface RunOf extends Execution {
  readonly entry: Entry;
  /** When the write began that took the lease, by the monotonic clock. */
  readonly leasedAt: number;
  /** Whether this run has just begun the recorded attempt, so that no worker has handed it over yet. */
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
  private readonly rules: RunRules;
  private readonly patience: Patience;
  private readonly submissions: RunSubmissions;
  private state: RunState;
  /** What was logged once and is not logged again for this run. */
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
    const rules = rulesOf(context, generation, of);
    this.rules = rules;
    this.patience = new Patience(context, this.holder, this.rest);
    const { holder, calls, outputs, patience } = this;
    this.submissions = new RunSubmissions(context, { of, holder, calls, outputs, patience, rules });
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

  /** The time to hand the lease back is over: ends whatever still prevents the run from doing so. */
  abandon(): void {
    this.patience.end();
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

  /** The task of a submit that throws or times out may have been accepted: from then on the provider is asked first. */
  private async submit(g: Generation, attempt: Attempt): Promise<Went> {
    const { clock } = this.context;
    const beganAt = clock.monotonic();
    const answer = await this.submissions.submit(g, {
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
    await this.patience.try(() => this.holder.write({ event: 'allow-last-poll', periodMs }));
    return 'on';
  }

  private async accept(acceptance: Extract<HolderCommand, { event: 'accepted' }>): Promise<Went> {
    await this.patience.try(() => this.holder.write(acceptance));
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

  /** What a failed call leaves to be known. An operator has to act where the provider refuses the credential. */
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
    // Whether a task that was stopped was cancelled by its owner is for the newest version to say.
    if (news.of === 'collect' && report.state === 'cancelled') await this.refresh();
    return 'on';
  }

  private async endAttempt({ failure, because, isRefused }: FailedAttempt): Promise<Went> {
    await this.patience.try(() => this.refresh());
    return this.heard({ of: 'ended-attempt', failure, because, isRefused });
  }

  private async leaveUntil(command: Extract<HolderCommand, { retryAt: number }>): Promise<Went> {
    await this.patience.try(() => this.holder.write({ ...command, ...this.cost() }));
    wake(this.context, this.generationId, command.retryAt);
    this.leftUntil = command.retryAt;
    return 'over';
  }

  private async restFor(ms: number): Promise<Went> {
    await this.rest.sleep(ms);
    return 'on';
  }

  /** Writes the end, then begins to settle. An end that comes too late is only noted. */
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

  /** What the provider has said that the attempt costs, for the next write. */
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
