import type { Generation } from '../../../core/generation/generation.js';

/** A stretch of time in which a generation ran and nobody had its lease. */
export interface Ownerless {
  readonly generationId: string;
  readonly from: number;
  until: number;
  /** How many younger generations of its model were started in that time, once recovery had had the time to wake it. */
  overtakenBy: number;
}

/** Looks at generations again and again, and counts who was started while another one waited for a new worker. */
export class OwnerlessWatch {
  readonly stretches: Ownerless[] = [];
  private readonly underWay = new Map<string, Ownerless>();
  private readonly started = new Set<string>();

  /** `allowanceMs`: what recovery and the delivery of a wake-up may take before anybody is called overtaken. */
  constructor(private readonly allowanceMs: number) {}

  see(now: number, generations: readonly Generation[]): void {
    const begun = generations.filter(({ fence, generationId }) => fence > 0 && !this.started.has(generationId));
    for (const g of generations) this.note(now, g, begun);
    for (const { generationId } of begun) this.started.add(generationId);
  }

  private note(now: number, g: Generation, begun: readonly Generation[]): void {
    const known = this.underWay.get(g.generationId);
    const isOwnerless = g.status === 'running' && (g.lease === undefined || g.lease.expiresAt <= now);
    if (!isOwnerless) {
      this.underWay.delete(g.generationId);
    } else if (known === undefined) {
      const stretch = { generationId: g.generationId, from: now, until: now, overtakenBy: 0 };
      this.underWay.set(g.generationId, stretch);
      this.stretches.push(stretch);
    } else {
      known.until = now;
      if (now - known.from <= this.allowanceMs) return;
      known.overtakenBy += begun.filter(
        ({ modelKey, createdAt }) => modelKey === g.modelKey && createdAt > g.createdAt,
      ).length;
    }
  }
}
