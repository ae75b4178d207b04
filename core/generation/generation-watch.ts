import type { Ports } from '../ports/tokens.js';
import type { GenerationRecord } from './generation.js';

/** How often a followed generation is read, in milliseconds, where other processes may change it. */
export const LOOK_EVERY_MS = 500;
/** The same where every change is made by this process: only a write of unknown outcome is found by reading. */
export const LOOK_ALONE_EVERY_MS = 5_000;
/** Reads that are under way at the same time. */
const READS_AT_ONCE = 8;

type Told = (record: GenerationRecord | null) => void;

/**
 * Tells calls of this process how the generations go that they wait for: at once of what this process writes, and of what
 * others write when it is read. All are read in one loop, each once however many calls wait for it. Nothing is read
 * while nobody waits.
 */
export class GenerationWatch {
  private readonly followers = new Map<string, Set<Told>>();
  private readonly lookEveryMs: number;
  private cancelTimer: (() => void) | undefined;
  private isLooking = false;

  constructor(
    private readonly ports: Pick<Ports, 'generations' | 'clock'>,
    isAlone = false,
  ) {
    this.lookEveryMs = isAlone ? LOOK_ALONE_EVERY_MS : LOOK_EVERY_MS;
  }

  /** How many generations are followed. */
  get followed(): number {
    return this.followers.size;
  }

  /**
   * Tells of the generation each time that it was written by this process or read, until the returned function is
   * called; an older version may come after a newer one. A read that fails is not told of: the next one may succeed.
   * `tell` must not throw.
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

  /** This process has written the record. */
  written(record: GenerationRecord): void {
    this.tell(record.generationId, record);
  }

  private tell(generationId: string, record: GenerationRecord | null): void {
    for (const tell of this.followers.get(generationId) ?? []) tell(record);
  }

  private schedule(): void {
    if (this.cancelTimer !== undefined || this.isLooking || this.followers.size === 0) return;
    this.cancelTimer = this.ports.clock.after(this.lookEveryMs, () => void this.look());
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
        this.tell(next.value, await this.ports.generations.read(next.value));
      } catch {
        // An outage has its own lines in the log.
      }
    }
  }
}
