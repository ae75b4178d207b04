import type { Context } from '../../context.js';
import type { Attempt, Generation } from '../generation.js';
import { handOver, type Submitted } from './hand-over.js';
import type { LeaseHolder } from './lease-holder.js';
import type { Patience } from './patience.js';
import { CallGivenUp, type ProviderCalls } from './provider-calls.js';
import type { RunOutputs } from './run-outputs.js';
import type { RunRules } from './next-step.js';
import type { Execution } from './unknown-model.js';
import type { Entry } from '../../providers/provider-gates.js';

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
    private readonly context: Context,
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
