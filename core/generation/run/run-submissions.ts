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
  readonly timeLeftMs: number;
  /** Called when the attempt is handed to the provider: from then on it may have been accepted. */
  readonly onBegun: () => void;
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
    { attempt, timeLeftMs, onBegun }: OneSubmission,
  ): Promise<Submitted | 'not-begun' | 'no-room' | 'unknown'> {
    const { of, holder, calls, outputs, patience, rules } = this.by;
    if (rules.answersWithOutputs && outputs.hasUsedKeys(g)) {
      await outputs.renewKeys(g);
      return 'not-begun';
    }
    const now = this.context.clock.now();
    const endsAt = Math.min(now + timeLeftMs, attempt.startedAt + rules.longestSubmitMs);
    if (endsAt <= now) return 'not-begun';
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
      if (!(error instanceof CallGivenUp)) await patience.try(() => holder.write({ event: 'submission-ended' }));
      return 'unknown';
    }
  }
}
