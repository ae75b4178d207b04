import type { Context } from '../context.js';
import { recoverGenerations, type GenerationsRecovered } from './recover-generations.js';
import { recoverHolds, type HoldsRecovered } from './recover-holds.js';
import { recoverUploads, type UploadsRecovered } from './recover-uploads.js';

export interface Recovered {
  readonly generations: GenerationsRecovered;
  readonly holds: HoldsRecovered;
  readonly uploads: UploadsRecovered;
  readonly claimsRemoved: number;
}

/** Does again whatever was cut. Runs on a schedule in every worker, and by hand; one a process at a time. */
export class Recovery {
  private holdsCursor: string | undefined;

  constructor(private readonly context: Context) {}

  /** One bounded pass over everything. Throws `StoreUnavailable` when a list cannot be read; the next pass starts afresh. */
  async pass(): Promise<Recovered> {
    const { context } = this;
    const generations = await recoverGenerations(context);
    const holds = await recoverHolds(context, this.holdsCursor);
    this.holdsCursor = holds.nextCursor;
    const uploads = await recoverUploads(context);
    const claimsRemoved = await context.claims.removeExpired(context.clock.now(), context.settings.recoveryBatch);
    return { generations, holds, uploads, claimsRemoved };
  }
}
