import type { Attempt, Generation } from '../../../core/generation/generation.js';
import type { ProviderCost, Submission } from '../../../core/ports/provider.js';
import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import type { Settings } from '../../../core/settings.js';
import { same, textOf } from '../../history/values.js';
import { SIMULATED_SETTLE_MS } from '../harness/settle-time.js';
import { type Effect, violation } from '../observed.js';
import type { Handlers } from './calls.js';
import type { GenerationListener, Generations, Step } from './generations.js';
import type { Prices } from './prices.js';
import { hasEnded } from './record-events.js';

/** Tolerance for a clock read before and after a wait, in milliseconds. */
const JITTER_MS = 2;
/** When a process received the answer that the provider does not have a task, in true time. */
interface NotFound {
  readonly at: number;
  readonly process: string;
}

interface Task {
  readonly token: string;
  readonly states: Set<string>;
  /** When the provider stated, and to which process, that it does not have the task, since its last other statement. */
  forgotten: NotFound[];
  /** Whether it was stated twice, a settle time apart. */
  isForgotten: boolean;
}

/** The limits on a generation's worker after a cancel request. */
interface Cancelled {
  readonly wasQueued: boolean;
  /** Fence and process of each submission since. */
  readonly submittedBy: Set<string>;
}

/**
 * Invariants 5 and 10, and the provider's real statements, whether its answers arrived or not. A worker may read a
 * generation, then a cancel is written, then the worker submits: so one submission may follow a cancel, in each lease
 * that was given before it.
 */
export class ProviderCalls implements GenerationListener {
  private readonly tasks = new Map<string, Task>();
  private readonly tokens = new Map<string, string>();
  private readonly cancelled = new Map<string, Cancelled>();
  /**
   * Processes that may submit each attempt: the one that started it, once; any other only after asking whether the
   * provider has it.
   */
  private readonly maySubmit = new Set<string>();

  /** Tokens under which a task may be at the provider, and those that it definitely refused. */
  private readonly handedOver = new Set<string>();
  private readonly refused = new Set<string>();
  /** Tokens that were refused because another provider, or a later try, may take the task. */
  private readonly undone = new Set<string>();
  /** The cost of the last submission by token, if it was refused. */
  private readonly costs = new Map<string, ProviderCost | undefined>();
  /** Tokens whose task was delivered in the answer to the submission. */
  private readonly delivered = new Set<string>();
  /** Tasks whose delivery, if any, contains something usable. */
  private readonly usable = new Set<string>();
  /** Stored references by generation. */
  private readonly stored = new Map<string, string[]>();
  /** "Not found" answers by token, since its last submission. */
  private readonly notFound = new Map<string, NotFound[]>();
  /** When each token was last submitted, in true time. */
  private readonly submittedAt = new Map<string, number>();

  constructor(
    private readonly generations: Generations,
    private readonly prices: Prices,
  ) {}

  readonly handlers: Handlers = {
    'provider.submit': ({ args: [{ token }], result }) => {
      if (result.accepted) {
        if ('reference' in result) this.task(result.reference, token);
        else this.delivered.add(token);
      } else {
        this.refused.add(token);
        this.costs.set(token, result.cost);
        // For a repeated submission, the last refusal counts.
        if (result.because === undefined) this.undone.delete(token);
        else this.undone.add(token);
      }
    },
    'provider.recover': ({ at, args: [token], result, process }) => {
      if (result === 'unsupported') {
        if (this.mayGuess(token)) this.maySubmit.add(`${process} ${token}`);
      } else if (result.found === true) this.task(result.reference, token);
      else if (result.found === false && this.mayBelieve(token, { at, process }))
        this.maySubmit.add(`${process} ${token}`);
    },
    'provider.poll': ({ at, args: [reference], result, process }) => {
      const task = this.tasks.get(reference);
      if (!task) return;
      task.states.add(result.state);
      task.forgotten = result.state === 'unknown' ? [...task.forgotten, { at, process }] : [];
      task.isForgotten ||= task.forgotten.some(
        (first) => first.process === process && at - first.at >= SIMULATED_SETTLE_MS - JITTER_MS,
      );
      // A task that stopped before a cancel request has failed; and outputs that it lists may be missing.
      const isAsked =
        this.generations.lives.get(this.tokens.get(task.token) ?? '')?.newest.cancelRequestedAt !== undefined;
      if (result.state === 'cancelled' && (!isAsked || result.outputs.length > 0)) task.states.add('failed');
    },
  };

  calling({ at, call, args, process }: Pick<Effect, 'at' | 'call' | 'args' | 'process'>): void {
    // The caller does not know the outcome of the submission.
    if (call === 'provider.recover') this.undone.delete(textOf(args[0]));
    if (call === 'provider.submit') this.submitting(args[0] as Submission, { at, process });
  }

  stepped({ before, next, event, by }: Step): void {
    const { generationId, attempt } = next;
    if (event === 'cancel')
      this.cancelled.set(generationId, { wasQueued: before.status === 'queued', submittedBy: new Set() });
    if (event === 'start' || event === 'begin-attempt') {
      if (attempt === undefined || this.tokens.has(attempt.token))
        throw violation`5: generation ${generationId} began an attempt with the token of another, ${attempt?.token}`;
      this.tokens.set(attempt.token, generationId);
      this.maySubmit.add(`${by.process} ${attempt.token}`);
    }
    const ended = before.attempt;
    if (event === 'yield' && ended && !attempt && this.handedOver.has(ended.token) && !this.refused.has(ended.token))
      throw violation`5: generation ${generationId} forgot attempt ${ended.number}, which ${by.process} had handed over`;
    if (event === 'attempt-failed' && ended && this.undone.has(ended.token))
      throw violation`5: generation ${generationId} counts attempt ${ended.number}, which its provider only had no room for`;
    if (event === 'yield' && ended && !attempt) this.requireCost(next, ended);
    if (event === 'attempt-failed' && ended && !this.mayGuess(ended.token) && !this.isKnownToHaveEnded(ended))
      throw violation`5: generation ${generationId} gives attempt ${ended.number} up for another one, and the provider may still have it`;
    if (event === 'fail' && next.error?.code === 'OUTPUT_INVALID') {
      const usable = (this.stored.get(generationId) ?? []).filter(
        (reference) => this.usable.has(reference) && this.tasks.get(reference)?.states.has('succeeded') === true,
      );
      if (usable.length !== 0)
        throw violation`9: generation ${generationId} fails for its outputs, and what task ${usable.join()} delivers can be used`;
    }
    if (event === 'accepted') {
      if (attempt?.reference !== undefined)
        this.stored.set(generationId, [...(this.stored.get(generationId) ?? []), attempt.reference]);
      const task = this.tasks.get(attempt?.reference ?? '');
      const isGiven = attempt?.delivered !== undefined && this.delivered.has(attempt.token);
      if (!isGiven && task?.token !== attempt?.token)
        throw violation`3: generation ${generationId} has task ${attempt?.reference} on record, which the provider never gave for token ${attempt?.token}`;
    }
  }

  /** If the provider states a cost for a task it refused, the cost is recorded, although the attempt does not count. */
  private requireCost({ generationId, costs = [] }: Generation, { token, number }: Attempt): void {
    const cost = this.costs.get(token);
    if (cost !== undefined && !costs.some((one) => one.attempt === number && one.computeMs === cost.computeMs))
      throw violation`5: generation ${generationId} lost what attempt ${number} has cost at its provider`;
  }

  /** Whether the provider refused the task, or stated that it ended; silence does not count. */
  private isKnownToHaveEnded({
    token,
    reference,
  }: Pick<NonNullable<Generation['attempt']>, 'token' | 'reference'>): boolean {
    const states = this.tasks.get(reference ?? '')?.states;
    return (
      this.refused.has(token) ||
      this.delivered.has(token) ||
      ['failed', 'succeeded', 'cancelled'].some((state) => states?.has(state) === true)
    );
  }

  /**
   * Unless the model prefers a duplicate task, the provider gets no task of a generation while it may still work on
   * another one of it.
   */
  taken({ generationId, token }: Submission, reference: string, isUsable: boolean): void {
    if (isUsable) this.usable.add(reference);
    this.requireNoMoreThanAllowed(generationId, reference);
    if (!this.mayGuess(token)) {
      const others = [...this.tasks].filter(
        ([other, task]) => other !== reference && this.tokens.get(task.token) === generationId,
      );
      for (const [other, task] of others) {
        if (!this.isKnownToHaveEnded({ token: task.token, reference: other }))
          throw violation`21: generation ${generationId} is made twice: as ${other} and as ${reference}`;
      }
    }
    this.task(reference, token);
  }

  /**
   * Whatever attempts, runs and providers there were, providers accept at most as many tasks as there may be attempts.
   */
  private requireNoMoreThanAllowed(generationId: string, reference: string): void {
    const taken = new Set([reference]);
    for (const [other, { token }] of this.tasks) if (this.tokens.get(token) === generationId) taken.add(other);
    const maxAttempts = this.generations.lives.get(generationId)?.newest.terms.maxAttempts ?? Infinity;
    if (taken.size > maxAttempts)
      throw violation`21: generation ${generationId} is made ${taken.size} times, and may be ${maxAttempts} times`;
  }

  /**
   * With a stored reference, another submission needs the provider's statement that this task failed, or a policy that
   * permits it after the provider's other statement.
   */
  private requireStatements(generationId: string, token: string): void {
    const life = this.generations.lives.get(generationId);
    if (life === undefined) return;
    const model = this.prices.model(life.newest.modelKey);
    for (const reference of this.stored.get(generationId) ?? []) {
      const task = this.tasks.get(reference);
      if (task === undefined || task.token === token) continue;
      const { states, isForgotten } = task;
      const isAllowed =
        states.has('failed') ||
        (isForgotten && model.onUnknownAcceptance === 'resubmit') ||
        (states.has('succeeded') && model.onInvalidOutput === 'resubmit');
      if (!isAllowed)
        throw violation`21: generation ${generationId} is submitted again, and task ${reference} was never stated to have failed`;
    }
  }

  /** Whether anything the provider did lets a worker conclude that the task failed by itself. */
  mayHaveFailed(reference: string): boolean {
    const task = this.tasks.get(reference);
    return task === undefined || ['failed', 'unknown', 'succeeded'].some((state) => task.states.has(state));
  }

  hasStopped(reference: string): boolean {
    return this.tasks.get(reference)?.states.has('cancelled') ?? false;
  }

  /** An attempt, with the client's request, is on record before any provider gets it. */
  private submitting(
    { generationId, token, modelKey, prompt, parameters, references }: Submission,
    { at, process }: Pick<Effect, 'at' | 'process'>,
  ): void {
    const cancelled = this.cancelled.get(generationId);
    if (cancelled?.wasQueued === true)
      throw violation`10: ${process} submits generation ${generationId}, which was cancelled while queued`;
    this.requireStatements(generationId, token);
    this.handedOver.add(token);
    this.notFound.delete(token);
    this.submittedAt.set(token, at);
    if (this.tokens.get(token) !== generationId)
      throw violation`5: ${process} submits generation ${generationId} with token ${token}, which is on no record of it`;
    if (!this.maySubmit.delete(`${process} ${token}`))
      throw violation`5: ${process} submits generation ${generationId} with token ${token}, which the provider may have already`;
    const newest = this.generations.lives.get(generationId)?.newest;
    const takesPrompt = this.prices.model(modelKey).promptRule !== 'none';
    const isTrue =
      newest?.modelKey === modelKey &&
      (takesPrompt ? newest.prompt : '') === prompt &&
      newest.references.length === references.length &&
      same(newest.parameters, parameters);
    if (!isTrue) throw violation`11: ${process} submits generation ${generationId} with another request than it has`;
    if (!cancelled) return;
    const submitter = `${process} ${newest.fence}`;
    if (cancelled.submittedBy.has(submitter))
      throw violation`10: ${process} submits generation ${generationId} again, after a cancel`;
    cancelled.submittedBy.add(submitter);
  }

  /**
   * Whether a process may conclude that the provider never gets the task: it received that answer twice, a settle time
   * apart, and both times when no submission could be in transit any more. Clocks of one pace are assumed.
   */
  private mayBelieve(token: string, told: NotFound): boolean {
    if (this.mayGuess(token)) return true;
    const all = [...(this.notFound.get(token) ?? []), told];
    this.notFound.set(token, all);
    const settledAt = (this.submittedAt.get(token) ?? 0) + SIMULATED_SETTLE_MS;
    return all.some(
      ({ at, process }) =>
        process === told.process && at >= settledAt && told.at - at >= SIMULATED_SETTLE_MS - JITTER_MS,
    );
  }

  /** Whether the model prefers a duplicate task over none. */
  private mayGuess(token: string): boolean {
    const life = this.generations.lives.get(this.tokens.get(token) ?? '');
    return life !== undefined && this.prices.model(life.newest.modelKey).onUnknownAcceptance === 'resubmit';
  }

  private task(reference: string, token: string): Task {
    let task = this.tasks.get(reference);
    if (!task) this.tasks.set(reference, (task = { token, states: new Set(), forgotten: [], isForgotten: false }));
    return task;
  }
}

/** How long a share may be used after it was renewed, in milliseconds. */
const SHARE_MS = 10_000;
const MINUTE_MS = 60_000;

/** A task that was submitted and is on its generation's record. */
interface Submitted {
  readonly provider: string;
  readonly process: string;
}

/**
 * Invariant 25, in the order in which submissions really start, whatever clocks are set to. A task counts until the
 * provider stated that it has ended, the outputs delivered with its answer are on record, or its attempt is over on
 * record. If processes share their stores, it counts only until the worker that submitted it hands it back, and at most
 * until that worker's share expires: tasks of a worker that is gone, or that could not renew its share for so long, may
 * exist beside others.
 */
export class SharesOfProviders implements GenerationListener {
  private readonly tasks = new Map<string, Submitted>();
  /** Tokens by the provider's reference. */
  private readonly tokens = new Map<string, string>();
  /** The boot of each process, which the record of a provider names. */
  private readonly boots = new Map<string, string | undefined>();
  /** When each share was renewed, by its own clock and in true time; the key is boot and provider. */
  private readonly renewed = new Map<string, { readonly by: number; readonly at: number }>();
  /** Start times of the submissions of the last minute by provider, in true time. */
  private readonly begun = new Map<string, number[]>();

  constructor(
    private readonly limits: Readonly<Record<string, ProviderLimits>>,
    private readonly settings: Pick<Settings, 'providerCallMs'>,
    private readonly isExclusive: boolean,
  ) {}

  readonly handlers: Handlers = {
    'provider.poll': ({ args: [reference], result: { state } }) => {
      if (state === 'succeeded' || state === 'failed' || state === 'cancelled')
        this.tasks.delete(this.tokens.get(reference) ?? '');
    },
    'providerUses.replace': ({ args: [use], result, at, processNow }) => {
      if (result !== 'applied') return;
      // A worker renews only its own share.
      for (const { worker, renewedAt } of use.shares) {
        const name = `${worker} ${use.provider}`;
        const before = this.renewed.get(name);
        if (before !== undefined && before.by !== renewedAt && at > before.at + SHARE_MS + this.settings.providerCallMs)
          this.forget(worker, use.provider);
        if (before?.by !== renewedAt)
          this.renewed.set(name, { by: renewedAt, at: Math.min(at, renewedAt - (processNow - at)) });
      }
    },
  };

  taken({ token }: Pick<Submission, 'token'>, reference: string): void {
    this.tokens.set(reference, token);
  }

  calling({ at, call, args, process }: Pick<Effect, 'at' | 'call' | 'args' | 'process'>): void {
    if (call !== 'provider.submit') return;
    const { token, settings } = args[0] as Submission;
    const provider = textOf(settings['of']);
    const { maxConcurrent = Infinity, maxSubmissionsPerMinute = Infinity } = this.limits[provider] ?? {};
    const lastMinute = [...(this.begun.get(provider) ?? []), at].filter((one) => one > at - MINUTE_MS);
    this.begun.set(provider, lastMinute);
    this.tasks.delete(token);
    const others = [...this.tasks.values()].filter((task) => task.provider === provider && this.isCounted(task, at));
    this.tasks.set(token, { provider, process });
    if (others.length >= maxConcurrent)
      throw violation`25: ${process} submits to ${provider}, which has ${others.length} tasks and may have ${maxConcurrent}`;
    if (lastMinute.length > maxSubmissionsPerMinute)
      throw violation`25: ${process} submits to ${provider}, as submission ${lastMinute.length} of a minute that may have ${maxSubmissionsPerMinute}`;
  }

  stepped({ before, next, event, by }: Step): void {
    const { attempt } = before;
    if (next.lease !== undefined) this.boots.set(next.lease.worker, next.lease.bootId);
    if (attempt === undefined) return;
    const isOver = next.attempt?.token !== attempt.token || next.attempt.delivered !== undefined || hasEnded(next);
    const isHandedBack =
      !this.isExclusive && event === 'yield' && this.tasks.get(attempt.token)?.process === by.process;
    if (isOver || isHandedBack) this.tasks.delete(attempt.token);
  }

  /** The share of a worker has expired, and another worker may get its slots: from then on its tasks do not count. */
  private forget(boot: string, provider: string): void {
    if (this.isExclusive) return;
    for (const [token, task] of this.tasks)
      if (task.provider === provider && this.boots.get(task.process) === boot) this.tasks.delete(token);
  }

  private isCounted({ provider, process }: Submitted, at: number): boolean {
    if (this.isExclusive) return true;
    const renewedAt = this.renewed.get(`${this.boots.get(process)} ${provider}`)?.at ?? -Infinity;
    return at < renewedAt + SHARE_MS + this.settings.providerCallMs;
  }
}
