import type { Context } from '../../context.js';
import type { Entry } from '../../providers/provider-gates.js';
import { isTerminal, type Generation, type GenerationRecord } from '../generation.js';

/** How often a task is looked up, at least, in milliseconds: leases may be much longer. */
const MAX_LOOK_MS = 30_000;

interface Left {
  readonly token: string;
  readonly entry: Entry;
  cancelTimer: () => void;
}

/**
 * Tasks of this process that go on at their providers though their runs ended: the store did not answer, or another worker
 * took over; and tasks that an earlier process of exclusive stores left. Each keeps its room at the provider until its attempt
 * is over, which is looked up once a lease, or every 30 seconds.
 */
export class LeftTasks {
  private readonly left = new Map<string, Left>();
  private hasStopped = false;

  constructor(private readonly context: Pick<Context, 'generations' | 'clock' | 'settings' | 'log'>) {}

  keep(g: Generation, entry: Entry): void {
    const { generationId, attempt } = g;
    if (attempt === undefined || isTerminal(g.status)) return entry.release();
    // It stays counted in the share that this process leaves behind.
    if (this.hasStopped) return;
    this.give(generationId);
    this.left.set(generationId, { token: attempt.token, entry, cancelTimer: this.lookLater(generationId) });
  }

  /** The room that the generation's task has already. */
  take(g: Generation): Entry | undefined {
    const left = this.left.get(g.generationId);
    if (left === undefined) return undefined;
    if (!goesOn(left, g)) {
      this.give(g.generationId);
      return undefined;
    }
    left.cancelTimer();
    this.left.delete(g.generationId);
    return left.entry;
  }

  /** Looks nothing up any more: what is left stays counted until this process has gone. */
  stop(): void {
    this.hasStopped = true;
    for (const { cancelTimer } of this.left.values()) cancelTimer();
  }

  private lookLater(generationId: string): () => void {
    const { clock, settings } = this.context;
    return clock.after(Math.min(settings.leaseMs, MAX_LOOK_MS), () => void this.look(generationId));
  }

  private async look(generationId: string): Promise<void> {
    const left = this.left.get(generationId);
    if (left === undefined) return;
    try {
      const record = await this.context.generations.read(generationId);
      if (this.left.get(generationId) === left && !goesOn(left, record)) return this.give(generationId);
    } catch (error) {
      this.context.log.warn('room at a provider not given back', { generationId, error });
    }
    if (!this.hasStopped && this.left.get(generationId) === left) left.cancelTimer = this.lookLater(generationId);
  }

  private give(generationId: string): void {
    const left = this.left.get(generationId);
    this.left.delete(generationId);
    left?.cancelTimer();
    left?.entry.release();
  }
}

function goesOn({ token }: Left, record: GenerationRecord | null): boolean {
  return record?.kind === 'generation' && !isTerminal(record.status) && record.attempt?.token === token;
}
