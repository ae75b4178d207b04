import type { Generation, GenerationView } from '../../core/generation/generation.js';

interface Kept<T> {
  readonly pollAfterMs: number | undefined;
  readonly shown: T;
}

/**
 * What a front makes of a view, kept with the record for as long as a store keeps that. A client asks many times before a
 * generation ends. Kept are only views of records that cannot change, and not those with outputs, whose addresses are
 * signed anew.
 */
export class KeptViews<T> {
  private readonly kept = new WeakMap<Generation, Kept<T>>();

  constructor(private readonly show: (view: GenerationView, isKept: boolean) => T) {}

  of(view: GenerationView): T {
    const { generation, outputs, pollAfterMs } = view;
    if (outputs.length > 0 || !Object.isFrozen(generation)) return this.show(view, false);
    const kept = this.kept.get(generation);
    if (kept !== undefined && kept.pollAfterMs === pollAfterMs) return kept.shown;
    const shown = this.show(view, true);
    this.kept.set(generation, { pollAfterMs, shown });
    return shown;
  }
}
