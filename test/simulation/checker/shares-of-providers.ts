import type { Submission } from '../../../core/ports/provider.js';
import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import type { Settings } from '../../../core/settings.js';
import type { Effect } from '../observed.js';
import type { Handlers } from './calls.js';
import { demand } from './demand.js';
import { hasEnded } from './record-events.js';
import type { GenerationListener, Step } from './generations.js';
import { textOf } from '../../history/values.js';

/** How long a share may be used after it was renewed, in milliseconds. */
const SHARE_MS = 10_000;
const MINUTE_MS = 60_000;

/** A task that was submitted and is on its generation's record. */
interface Submitted {
  readonly provider: string;
  readonly process: string;
}

/**
 * Invariant 25, in the order in which submissions really begin, whatever clocks are set to. A task counts until the provider
 * said that it has ended, what it delivered with its answer is on record, or its attempt is over on record. Where processes
 * share their stores, it counts only until the worker that submitted it hands it back, and no longer than that worker's share
 * is kept for it: what a worker has left that is gone, or could not renew its share for so long, may be there beside others.
 */
export class SharesOfProviders implements GenerationListener {
  private readonly tasks = new Map<string, Submitted>();
  /** By the provider's reference. */
  private readonly tokens = new Map<string, string>();
  /** By process: its boot, by which the record of a provider names it. */
  private readonly boots = new Map<string, string | undefined>();
  /** By boot and provider: when its share was renewed, by its own clock and in true time. */
  private readonly renewed = new Map<string, { readonly by: number; readonly at: number }>();
  /** By provider: when the submissions of the last minute began, in true time. */
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
      // A worker renews its own share only.
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
    demand(
      others.length < maxConcurrent,
      25,
      () => `${process} submits to ${provider}, which has ${others.length} tasks and may have ${maxConcurrent}`,
    );
    demand(
      lastMinute.length <= maxSubmissionsPerMinute,
      25,
      () =>
        `${process} submits to ${provider}, as submission ${lastMinute.length} of a minute that may have ` +
        `${maxSubmissionsPerMinute}`,
    );
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

  /** The share of a worker was over, and another one may have its slots: its tasks are there beside others from then on. */
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
