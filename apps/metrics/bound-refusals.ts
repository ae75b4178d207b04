import { Counter, type Registry } from 'prom-client';
import type { Bound } from '../../core/errors.js';

const BOUNDS: Readonly<Record<Bound, true>> = {
  open_generations: true,
  uncharged_content_bytes: true,
  unfinished_uploads: true,
  stored_uploads: true,
  stored_upload_bytes: true,
};

/**
 * What was refused because an account or an App has as much as it may have, over either front. How much it has is for
 * `accounts show`.
 */
export class BoundRefusals {
  private readonly refusals: Counter<'bound'>;

  constructor(registry: Registry) {
    this.refusals = new Counter({
      name: 'darkroom_bound_refusals_total',
      help: 'Requests refused with QUEUE_FULL, by the bound that was reached.',
      labelNames: ['bound'],
      registers: [registry],
    });
    for (const bound of Object.keys(BOUNDS)) this.refusals.inc({ bound }, 0);
  }

  /** One request was answered; `bound` is what it was refused for, if it was. */
  note(bound: Bound | undefined): void {
    if (bound !== undefined) this.refusals.inc({ bound });
  }
}
