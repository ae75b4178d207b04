import type { Effect } from '../observed.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Submission } from '../../../core/ports/provider.js';
import type { Handlers } from './calls.js';
import { demand } from './demand.js';
import type { GenerationListener, Generations, Step } from './generations.js';
import type { Prices } from './prices.js';
import { same, textOf } from '../../history/values.js';

/** As many silent answers as a worker bears before it gives a task up. */
const MAX_SILENT_POLLS = 10;

interface Task {
  readonly token: string;
  readonly states: Set<string>;
  polls: number;
}

/** What a generation's worker may still do, once a cancel was asked for. */
interface Cancelled {
  readonly wasQueued: boolean;
  /** Fence and process of those who have submitted since. */
  readonly submittedBy: Set<string>;
}

/**
 * Invariants 5 and 10, and what the provider really said, whether its answers arrived or not. A worker may read a
 * generation, then a cancel is written, then the worker submits: so one submission may follow a cancel, in each lease
 * that was given before it.
 */
export class ProviderCalls implements GenerationListener {
  private readonly tasks = new Map<string, Task>();
  private readonly tokens = new Map<string, string>();
  private readonly cancelled = new Map<string, Cancelled>();
  /** Who may hand over which attempt: its beginner once, anybody else only after asking whether the provider has it. */
  private readonly maySubmit = new Set<string>();

  /** Tokens under which a task may be at the provider, and those that it certainly refused. */
  private readonly handedOver = new Set<string>();
  private readonly refused = new Set<string>();

  constructor(
    private readonly generations: Generations,
    private readonly prices: Prices,
  ) {}

  readonly handlers: Handlers = {
    'provider.submit': ({ args: [{ token }], result }) => {
      if (result.accepted) {
        if ('reference' in result) this.task(result.reference, token);
      } else this.refused.add(token);
    },
    'provider.recover': ({ args: [token], result, process }) => {
      if (result === 'unsupported') {
        if (this.mayGuess(token)) this.maySubmit.add(`${process} ${token}`);
      } else if (result.found === true) this.task(result.reference, token);
      else if (result.found === false) this.maySubmit.add(`${process} ${token}`);
    },
    'provider.poll': ({ args: [reference], result }) => {
      const task = this.tasks.get(reference);
      if (!task) return;
      task.states.add(result.state);
      // One that stopped before it was asked to has failed; and what it lists may turn out not to be there.
      const isAsked =
        this.generations.lives.get(this.tokens.get(task.token) ?? '')?.newest.cancelRequestedAt !== undefined;
      if (result.state === 'cancelled' && (!isAsked || result.outputs.length > 0)) task.states.add('failed');
    },
  };

  calling({ call, args, process }: Pick<Effect, 'call' | 'args' | 'process'>): void {
    if (call === 'provider.poll') {
      const task = this.tasks.get(textOf(args[0]));
      if (task) task.polls += 1;
    }
    if (call === 'provider.submit') this.submitting(args[0] as Submission, process);
  }

  stepped({ before, next, event, by }: Step): void {
    const { generationId, attempt } = next;
    if (event === 'cancel')
      this.cancelled.set(generationId, { wasQueued: before.status === 'queued', submittedBy: new Set() });
    if (event === 'start' || event === 'begin-attempt') {
      demand(
        attempt !== undefined && !this.tokens.has(attempt.token),
        5,
        () => `generation ${generationId} began an attempt with the token of another, ${attempt?.token}`,
      );
      this.tokens.set(attempt.token, generationId);
      this.maySubmit.add(`${by.process} ${attempt.token}`);
    }
    const ended = before.attempt;
    if (event === 'yield' && ended && !attempt) {
      demand(
        !this.handedOver.has(ended.token),
        5,
        () => `generation ${generationId} forgot attempt ${ended.number}, which ${by.process} had handed over`,
      );
    }
    if (event === 'attempt-failed' && ended && !this.mayGuess(ended.token)) {
      demand(
        this.isKnownToHaveEnded(ended),
        5,
        () =>
          `generation ${generationId} gives attempt ${ended.number} up for another one, and the provider may still have it`,
      );
    }
    if (event === 'accepted') {
      const task = this.tasks.get(attempt?.reference ?? '');
      demand(
        task?.token === attempt?.token,
        3,
        () =>
          `generation ${generationId} has task ${attempt?.reference} on record, which the provider never gave for token ${attempt?.token}`,
      );
    }
  }

  /** Whether the provider refused the task, or said that it came to an end; silence is no such thing. */
  private isKnownToHaveEnded({ token, reference }: NonNullable<Generation['attempt']>): boolean {
    const states = this.tasks.get(reference ?? '')?.states;
    return this.refused.has(token) || ['failed', 'succeeded', 'cancelled'].some((state) => states?.has(state) === true);
  }

  /** Whether anything the provider did, or kept silent about, lets a worker say that the task failed by itself. */
  mayHaveFailed(reference: string): boolean {
    const task = this.tasks.get(reference);
    return (
      task === undefined ||
      task.polls >= MAX_SILENT_POLLS ||
      ['failed', 'unknown', 'succeeded'].some((state) => task.states.has(state))
    );
  }

  hasStopped(reference: string): boolean {
    return this.tasks.get(reference)?.states.has('cancelled') ?? false;
  }

  /** An attempt is on record before anybody is asked to make it, with what the client asked for. */
  private submitting(
    { generationId, token, modelKey, prompt, parameters, references }: Submission,
    process: string,
  ): void {
    const cancelled = this.cancelled.get(generationId);
    demand(
      cancelled?.wasQueued !== true,
      10,
      () => `${process} submits generation ${generationId}, which was cancelled while queued`,
    );
    this.handedOver.add(token);
    demand(
      this.tokens.get(token) === generationId,
      5,
      () => `${process} submits generation ${generationId} with token ${token}, which is on no record of it`,
    );
    demand(
      this.maySubmit.delete(`${process} ${token}`),
      5,
      () => `${process} submits generation ${generationId} with token ${token}, which the provider may have already`,
    );
    const newest = this.generations.lives.get(generationId)?.newest;
    const isTrue =
      newest?.modelKey === modelKey &&
      newest.prompt === prompt &&
      newest.references.length === references.length &&
      same(newest.parameters, parameters);
    demand(isTrue, 11, () => `${process} submits generation ${generationId} with another request than it has`);
    if (!cancelled) return;
    const submitter = `${process} ${newest.fence}`;
    demand(
      !cancelled.submittedBy.has(submitter),
      10,
      () => `${process} submits generation ${generationId} again, after a cancel`,
    );
    cancelled.submittedBy.add(submitter);
  }

  /** Whether the model would rather have a task twice than not at all. */
  private mayGuess(token: string): boolean {
    const life = this.generations.lives.get(this.tokens.get(token) ?? '');
    return life !== undefined && this.prices.model(life.newest.modelKey).onUnknownAcceptance === 'resubmit';
  }

  private task(reference: string, token: string): Task {
    let task = this.tasks.get(reference);
    if (!task) this.tasks.set(reference, (task = { token, states: new Set(), polls: 0 }));
    return task;
  }
}
