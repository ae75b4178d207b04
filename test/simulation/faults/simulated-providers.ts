import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import type { RunContext } from '../harness/run-context.js';
import { SimulatedProvider, type Script, type SharedByProviders } from './simulated-provider.js';

/** The limits of each provider: so low that they are met often, and high enough that nothing waits for its whole time. */
export const SIMULATED_LIMITS: Readonly<Record<string, ProviderLimits>> = {
  simulated: { maxConcurrent: 4 },
  spare: { maxConcurrent: 2, maxSubmissionsPerMinute: 6 },
};

/** Several services of others, which one run has connected. */
export class SimulatedProviders implements SharedByProviders {
  readonly handedOver = new Set<string>();
  script: Script | undefined;
  readonly byName: Readonly<Record<string, SimulatedProvider>>;

  constructor(context: RunContext) {
    this.byName = Object.fromEntries(
      Object.keys(SIMULATED_LIMITS).map((name) => [name, new SimulatedProvider(name, context, this)]),
    );
  }

  /** All of them answer nothing for so long, unless faults stop before. */
  goAway(forMs: number): void {
    for (const provider of Object.values(this.byName)) provider.goAway(forMs);
  }
}
