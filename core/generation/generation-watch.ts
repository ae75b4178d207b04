import type { Ports } from '../ports/tokens.js';
import type { GenerationRecord } from './generation.js';

/** How often a followed generation is read, in milliseconds. */
export const LOOK_EVERY_MS = 500;
/** Reads that are under way at the same time. */
const READS_AT_ONCE = 8;

type Told = (record: GenerationRecord | null) => void;

/**
 * Reads the generations that calls of this process wait for: all of them in one loop, each once however many calls wait
 * for it. Nothing is read while nobody waits.
 */
export class GenerationWatch {
  private readonly followers = new Map<string, Set<Told>>();
  private cancelTimer: (() => void) | undefined;
  private isLooking = false;

  constructor(private readonly ports: Pick<Ports, 'generations' | 'clock'>) {}

  /** How many generations are followed. */
  get followed(): number {
    return this.followers.size;
  }

  /**
   * Tells of the generation each time that it was read, until the returned function is called. A read that fails is
   * not told of: the next one may succeed.
   */
  follow(generationId: string, tell: Told): () => void {
    const told = this.followers.get(generationId) ?? new Set();
    this.followers.set(generationId, told.add(tell));
    this.schedule();
    return () => {
      told.delete(tell);
      if (told.size > 0 || this.followers.get(generationId) !== told) return;
      this.followers.delete(generationId);
      if (this.followers.size > 0) return;
      this.cancelTimer?.();
      this.cancelTimer = undefined;
    };
  }

  private schedule(): void {
    if (this.cancelTimer !== undefined || this.isLooking || this.followers.size === 0) return;
    this.cancelTimer = this.ports.clock.after(LOOK_EVERY_MS, () => void this.look());
  }

  private async look(): Promise<void> {
    this.cancelTimer = undefined;
    this.isLooking = true;
    const ids = [...this.followers.keys()].values();
    await Promise.all(Array.from({ length: READS_AT_ONCE }, () => this.readAll(ids)));
    this.isLooking = false;
    this.schedule();
  }

  /** One of several that take ids from the same list. */
  private async readAll(ids: Iterator<string, undefined>): Promise<void> {
    for (let next = ids.next(); next.done !== true; next = ids.next()) {
      try {
        const record = await this.ports.generations.read(next.value);
        for (const tell of this.followers.get(next.value) ?? []) tell(record);
      } catch {
        // An outage has its own lines in the log.
      }
    }
  }
}
