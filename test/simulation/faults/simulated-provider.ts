import type {
  Provider,
  ProviderCall,
  ProviderFailure,
  ProviderOutput,
  ProviderCapabilities,
  ProviderReport,
  Submission,
} from '../../../core/ports/provider.js';
import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import { bytesOf, readableAgain, streamOf } from '../../fixtures/byte-streams.js';
import { plainImage, plainVideo } from '../../fixtures/plain-media.js';
import type { RunContext } from '../harness/run-context.js';
import { SIMULATED_SETTLE_MS } from '../harness/settle-time.js';
import { REFUSES_OTHER_SIZES } from '../harness/settings.js';
import { NO_FAULTS } from './fault-profile.js';
import { never } from './port-faults.js';

/** The outcome of the next tasks, where it is not left to chance. */
export interface Script {
  readonly ending: Ending;
  readonly onCancel?: OnCancel;
  /** How many of the next submissions are accepted without their answers arriving. */
  losesAnswers?: number;
  readonly takesMs: number;
}

export type Ending =
  | 'succeeds'
  | 'delivers some'
  | 'delivers none'
  | 'delivers rubbish'
  | 'delivers another size'
  | 'delivers late'
  | 'stops by itself'
  | 'fails for now'
  | 'fails for good'
  | 'never ends'
  | 'is forgotten'
  | 'succeeds once';
export type OnCancel = 'stops' | 'stops with some' | 'goes on' | 'fails';

interface Task {
  readonly reference: string;
  readonly token: string;
  readonly count: number;
  readonly submission: Submission;
  readonly startedAt: number;
  readonly endsAt: number;
  readonly ending: Ending;
  readonly onCancel: OnCancel;
  hasSucceeded?: boolean;
  cancelledAt?: number;
}

const BAD_ENDINGS: readonly Ending[] = [
  'delivers some',
  'delivers none',
  'delivers rubbish',
  'delivers another size',
  'delivers late',
  'stops by itself',
  'fails for now',
  'fails for good',
  'never ends',
  'never ends',
  'is forgotten',
];
/** How long after the end of a task that delivers late its files can be fetched. */
const LATE_MS = 40_000;
/** Waits it may ask for: none, a short one, one past the cap, and one past every deadline. */
const RETRY_AFTER_MS: readonly number[] = [0, 3_000.5, 30_000, 86_400_000];
/**
 * A process that sleeps abandons its call when it wakes. Its request has been in transit since before that. If another
 * process has its lease by then, that lead is shorter than this.
 */
const ABANDONED_MARGIN_MS = 1_500;
const ON_CANCEL: readonly OnCancel[] = ['stops', 'stops', 'stops with some', 'goes on', 'fails'];

/** State that all providers of a run share. */
export interface SharedByProviders {
  /** Generations in the order of their first submission. */
  readonly handedOver: Set<string>;
  script: Script | undefined;
}

/**
 * A third-party service: it takes its time, breaks off, forgets, delivers too little, and continues after a request to
 * stop.
 */
export class SimulatedProvider implements Provider {
  private awayUntil = 0;
  private fetched = 0;
  private readonly tasks = new Map<string, Task>();
  private readonly knowsTokens: boolean;
  private readonly canRecover: boolean;
  private readonly answersWithOutputs: boolean;

  constructor(
    private readonly name: string,
    private readonly context: RunContext,
    private readonly shared: SharedByProviders,
  ) {
    this.knowsTokens = context.chance.happens(700);
    this.canRecover = context.chance.happens(700);
    this.answersWithOutputs = context.chance.happens(200);
  }

  capabilities(): ProviderCapabilities {
    return {
      answersWithOutputs: this.answersWithOutputs,
      isAskedBy: this.canRecover ? 'token' : 'nothing',
      takesTokenOnce: this.knowsTokens,
      settleMs: SIMULATED_SETTLE_MS,
      cancels: 'running',
      isPaid: true,
    };
  }

  async submit(submission: Submission, { signal }: ProviderCall): ReturnType<Provider['submit']> {
    this.shared.handedOver.add(submission.generationId);
    try {
      for (const reference of submission.references) for await (const _chunk of await reference.open());
    } catch (error) {
      // Servers do not accept half a request, and some callers know that.
      if (this.context.chance.happens(500)) throw error;
      return { accepted: false, failure: failure('PROVIDER_UNAVAILABLE', this.context.chance.happens(900)) };
    }
    // The rest of the request is no longer sent.
    if (signal.aborted) throw new Error('The submission was abandoned.');
    const { script } = this.shared;
    if (script?.losesAnswers !== undefined && script.losesAnswers > 0) {
      script.losesAnswers -= 1;
      this.take(submission);
      throw new Error('The line broke.');
    }
    switch (
      this.misbehaves(
        [
          'refuses for now',
          'refuses until later',
          'refuses for good',
          'is full',
          'is full for long',
          'lacks the model',
          'breaks before',
          'breaks, arrives late',
          'hangs, arrives late',
          'hangs, arrives after it was abandoned',
          'breaks after',
          'hangs before',
          'hangs after',
        ] as const,
        this.context.profile.providerPerMille,
      )
    ) {
      case 'refuses for now':
        return { accepted: false, failure: failure('PROVIDER_UNAVAILABLE', true), ...this.someCost() };
      case 'refuses until later':
        return {
          accepted: false,
          failure: { ...failure('PROVIDER_UNAVAILABLE', true), retryAfterMs: this.context.chance.pick(RETRY_AFTER_MS) },
        };
      case 'refuses for good':
        return { accepted: false, failure: failure('CONTENT_REJECTED_INPUT', false) };
      case 'is full':
        return {
          accepted: false,
          failure: failure('PROVIDER_UNAVAILABLE', true),
          because: 'capacity',
          ...this.someCost(),
        };
      case 'is full for long':
        return {
          accepted: false,
          failure: { ...failure('PROVIDER_UNAVAILABLE', true), retryAfterMs: this.context.chance.pick(RETRY_AFTER_MS) },
          because: 'capacity',
        };
      case 'lacks the model':
        return { accepted: false, failure: failure('MODEL_UNAVAILABLE', false), because: 'not-here' };
      case 'breaks, arrives late':
        this.takeLate(submission);
        throw new Error('The line broke.');
      case 'hangs, arrives late':
        this.takeLate(submission);
        return never();
      case 'hangs, arrives after it was abandoned':
        signal.addEventListener('abort', () => this.takeLate(submission, ABANDONED_MARGIN_MS));
        return never();
      case 'breaks before':
        throw new Error('The line broke.');
      case 'hangs before':
        return never();
      case 'breaks after':
        this.take(submission);
        throw new Error('The line broke.');
      case 'hangs after':
        this.take(submission);
        return never();
      case undefined:
        return this.answersWithOutputs && this.shared.script === undefined
          ? this.made(submission)
          : { accepted: true, reference: this.take(submission).reference };
    }
  }

  async poll(reference: string): Promise<ProviderReport> {
    switch (
      this.misbehaves([
        'throws',
        'hangs',
        'does not know',
        'limits polls',
        'refuses the key',
        'reports a word of its own',
      ] as const)
    ) {
      case 'throws':
        throw new Error('The provider is silent.');
      case 'limits polls':
        throw Object.assign(new Error('Too many polls.'), { retryAfterMs: this.context.chance.pick(RETRY_AFTER_MS) });
      case 'refuses the key':
        throw Object.assign(new Error('The key is refused.'), { isAccessRefused: true });
      case 'reports a word of its own':
        return { state: 'running', unknownStatus: 'PONDERING' };
      case 'hangs':
        return never();
      case 'does not know':
        return { state: 'unknown' };
      case undefined:
        return this.reportOf(this.tasks.get(reference));
    }
  }

  async output(reference: string, index: number): Promise<AsyncIterable<Uint8Array>> {
    const task = this.tasks.get(reference);
    if (task === undefined) throw new Error('There is no such task.');
    if (task.ending === 'delivers late' && this.context.scheduler.now < task.endsAt + LATE_MS)
      throw new Error('The file is not there yet.');
    switch (this.misbehaves(['throws', 'breaks', 'hangs'] as const)) {
      case 'throws':
        throw new Error('The output is not there yet.');
      case 'breaks':
        return breaking();
      case 'hangs':
        return hanging();
      case undefined:
        return streamOf(this.mediaOf(task, index));
    }
  }

  async cancel(reference: string): Promise<void> {
    const task = this.tasks.get(reference);
    if (task !== undefined) task.cancelledAt ??= this.context.scheduler.now;
    if (this.misbehaves(['throws'] as const)) throw new Error('The provider is silent.');
  }

  async recover(token: string): ReturnType<Provider['recover']> {
    if (!this.canRecover) return 'unsupported';
    switch (this.misbehaves(['throws', 'hangs', 'does not know yet', 'does not know yet'] as const)) {
      case 'throws':
        throw new Error('The provider is silent.');
      case 'hangs':
        return never();
      case 'does not know yet':
        return {
          found: 'not-yet',
          ...(this.context.chance.happens(500) ? { retryAfterMs: this.context.chance.pick(RETRY_AFTER_MS) } : {}),
        };
      case undefined:
        return this.find(token);
    }
  }

  private find(token: string): { readonly found: true; readonly reference: string } | { readonly found: false } {
    const task = [...this.tasks.values()].find((one) => one.token === token);
    return task === undefined ? { found: false } : { found: true, reference: task.reference };
  }

  /** The submission was in transit when its call ended. */
  private takeLate(submission: Submission, marginMs = 1): void {
    const { scheduler, chance } = this.context;
    scheduler.after(chance.between(0, SIMULATED_SETTLE_MS - marginMs), () => void this.take(submission));
  }

  /** The cost that it states for a refused task, if it states one. */
  private someCost(): { readonly cost?: { readonly computeMs: number } } {
    const { chance } = this.context;
    return chance.happens(300) ? { cost: { computeMs: chance.between(1, 1_000_000) } } : {};
  }

  /** Answers once the task has ended, with its outputs. */
  private async made(submission: Submission): ReturnType<Provider['submit']> {
    const { scheduler } = this.context;
    const task = this.take(submission);
    await new Promise<void>((resolve) => void scheduler.after(task.endsAt - task.startedAt, resolve));
    const report = this.reportOf(task);
    if (report.state === 'failed') return { accepted: false, failure: report.failure };
    if (report.state !== 'succeeded') return never();
    const outputs = report.outputs.map((output, index) => ({
      ...output,
      bytes: readableAgain(this.mediaOf(task, index)),
    }));
    return { accepted: true, outputs, cost: { computeMs: task.endsAt - task.startedAt } };
  }

  private take(submission: Submission): Task {
    const { token, parameters } = submission;
    const known = this.knowsTokens ? [...this.tasks.values()].find((task) => task.token === token) : undefined;
    if (known) return known;
    const { chance, scheduler, profile } = this.context;
    const task: Task = {
      reference: `${this.name}-${this.tasks.size + 1}`,
      token,
      submission,
      count: typeof parameters['count'] === 'number' ? parameters['count'] : 1,
      startedAt: scheduler.now,
      endsAt: scheduler.now + (this.shared.script?.takesMs ?? chance.pick([0, 1_500, 8_000, 8_000, 30_000])),
      ending:
        this.shared.script?.ending ??
        (chance.happens(profile.providerPerMille) ? chance.pick(BAD_ENDINGS) : 'succeeds'),
      onCancel: this.shared.script?.onCancel ?? chance.pick(ON_CANCEL),
    };
    this.context.tally.add(`provider task ${task.ending}`);
    this.tasks.set(task.reference, task);
    this.tell(submission, task);
    return task;
  }

  /** A violation must not reach core as if the call had failed. */
  private tell(submission: Submission, { reference, ending, count }: Task): void {
    const isRefused = ending === 'delivers another size' && submission.modelKey === REFUSES_OTHER_SIZES;
    const isUsable = !isRefused && ending !== 'delivers none' && !(ending === 'delivers rubbish' && count === 1);
    try {
      this.context.observer.taken(submission, reference, isUsable);
    } catch (error) {
      this.context.scheduler.fail(error);
    }
  }

  private reportOf(task: Task | undefined): ProviderReport {
    if (task === undefined) return { state: 'unknown' };
    const { now } = this.context.scheduler;
    if (task.cancelledAt !== undefined && task.cancelledAt < task.endsAt && task.onCancel !== 'goes on') {
      if (task.onCancel === 'fails') return { state: 'failed', failure: failure('PROVIDER_REJECTED', false) };
      return { state: 'cancelled', outputs: task.onCancel === 'stops' ? [] : this.outputsOf(task, 1) };
    }
    if (now < task.endsAt || task.ending === 'never ends') return { state: 'running', ...this.hint() };
    if (task.ending === 'succeeds once' && task.hasSucceeded === true)
      return { state: 'failed', failure: failure('PROVIDER_REJECTED', false) };
    task.hasSucceeded = true;
    switch (task.ending) {
      case 'is forgotten':
        return { state: 'unknown' };
      case 'fails for now':
        return { state: 'failed', failure: failure('PROVIDER_UNAVAILABLE', true) };
      case 'fails for good':
        return { state: 'failed', failure: failure('CONTENT_REJECTED_OUTPUT', false) };
      case 'stops by itself':
        return { state: 'cancelled', outputs: this.outputsOf(task, task.count > 1 ? 1 : 0) };
      case 'delivers none':
        return { state: 'succeeded', outputs: [] };
      case 'delivers some':
        return { state: 'succeeded', outputs: this.outputsOf(task, Math.max(1, task.count - 1)) };
      case 'delivers rubbish':
      case 'delivers another size':
      case 'delivers late':
      case 'succeeds once':
      case 'succeeds':
        return { state: 'succeeded', outputs: this.outputsOf(task, task.count) };
    }
  }

  /** The progress, and when to poll again, if it states one. */
  private hint(): { readonly progress?: number; readonly pollAfterMs?: number } {
    const { chance } = this.context;
    return {
      ...(chance.happens(700) ? { progress: chance.between(0, 100) / 100 } : {}),
      ...(chance.happens(700) ? { pollAfterMs: 1_000 } : {}),
    };
  }

  private mediaOf(task: Task, index: number): Uint8Array {
    // Encoded anew for each fetch: the same picture, but different bytes.
    this.fetched += 1;
    const note = `of ${task.reference}, number ${index}, fetched as ${this.fetched}`;
    const { parameters, operation } = task.submission;
    const [widthPx = 64, heightPx = 64] =
      typeof parameters['size'] === 'string' ? parameters['size'].split('x').map(Number) : [];
    if (task.ending === 'delivers rubbish' && (index > 0 || task.count === 1)) {
      return this.context.chance.pick([
        bytesOf(note),
        operation === 'video_generation' ? plainImage(9, 9) : plainVideo(64, 64, 9_000),
        new Uint8Array(2_000),
      ]);
    }
    if (task.ending === 'delivers another size' && operation === 'video_generation')
      return plainVideo(widthPx, heightPx, this.context.chance.pick([1_000, 4_400, 9_000]));
    if (task.ending === 'delivers another size')
      return plainImage(this.context.chance.pick([9, 80]), 9, 'image/png', note);
    if (operation === 'video_generation') return plainVideo(widthPx, heightPx, Number(parameters['seconds']) * 1_000);
    return plainImage(widthPx, heightPx, 'image/png', note);
  }

  /** Answers no calls for this long, unless faults stop before. */
  goAway(forMs: number): void {
    this.awayUntil = this.context.scheduler.now + forMs;
  }

  private outputsOf({ submission }: Task, count: number): ProviderOutput[] {
    const isVideo = submission.operation === 'video_generation';
    return Array.from({ length: count }, () =>
      isVideo ? { kind: 'video', mediaType: 'video/mp4' } : { kind: 'image', mediaType: 'image/png' },
    );
  }

  private misbehaves<T extends string>(
    ways: readonly T[],
    perMille = this.context.profile.providerPerMille >> 1,
  ): T | undefined {
    const { profile, chance, tally, scheduler } = this.context;
    if (profile !== NO_FAULTS && this.awayUntil > scheduler.now) throw new Error('The provider is away.');
    if (!chance.happens(perMille)) return undefined;
    const way = chance.pick(ways);
    tally.add(`provider ${way}`);
    return way;
  }
}

function failure(code: ProviderFailure['code'], mayRetry: boolean): ProviderFailure {
  return { code, message: 'The provider says so.', mayRetry };
}

async function* breaking(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(8);
  throw new Error('The line broke.');
}

async function* hanging(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(8);
  await never();
}

/**
 * The limits of each provider: low enough to be reached often, and high enough that nothing waits for its whole time.
 */
export const SIMULATED_LIMITS: Readonly<Record<string, ProviderLimits>> = {
  simulated: { maxConcurrent: 4 },
  spare: { maxConcurrent: 2, maxSubmissionsPerMinute: 6 },
};

/** Several third-party services that one run uses. */
export class SimulatedProviders implements SharedByProviders {
  readonly handedOver = new Set<string>();
  script: Script | undefined;
  readonly byName: Readonly<Record<string, SimulatedProvider>>;

  constructor(context: RunContext) {
    this.byName = Object.fromEntries(
      Object.keys(SIMULATED_LIMITS).map((name) => [name, new SimulatedProvider(name, context, this)]),
    );
  }

  /** All of them stop answering for this long, unless faults stop before. */
  goAway(forMs: number): void {
    for (const provider of Object.values(this.byName)) provider.goAway(forMs);
  }
}
