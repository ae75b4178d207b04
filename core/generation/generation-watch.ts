import type { GenerationChanges, WrittenGeneration } from '../ports/generation-changes.js';
import type { Ports } from '../ports/tokens.js';
import type { GenerationRecord } from './generation.js';
import { WritesElsewhere } from './writes-elsewhere.js';

/** Reads that are under way at the same time. */
const READS_AT_ONCE = 8;

type Told = (record: GenerationRecord | null) => void;

/**
 * Tells calls of this process how the generations go that they wait for: at once of what this process writes, and of what
 * others write when the store tells of it, or when it is read. All are read in one loop, each once however many calls
 * wait for it. Nothing is read while nobody waits.
 */
export class GenerationWatch {
  private readonly followers = new Map<string, Set<Told>>();
  private readonly elsewhere: WritesElsewhere;
  /** Since when everything was told as the last look began, if that found everything. */
  private lookedIn: number | undefined;
  private cancelTimer: (() => void) | undefined;
  private isLooking = false;

  constructor(
    private readonly ports: Pick<Ports, 'generations' | 'clock'>,
    isAlone = false,
    changes?: GenerationChanges,
  ) {
    const watch = {
      written: (change: WrittenGeneration) => {
        const { generationId } = change;
        if (this.followers.has(generationId)) this.tell(generationId, change.record());
      },
      hurry: () => this.hurry(),
    };
    this.elsewhere = new WritesElsewhere(watch, changes, isAlone);
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
    this.elsewhere.begin();
    this.schedule();
    return () => {
      told.delete(tell);
      if (told.size > 0 || this.followers.get(generationId) !== told) return;
      this.followers.delete(generationId);
      if (this.followers.size > 0) return;
      this.elsewhere.end();
      this.cancelTimer?.();
      this.cancelTimer = undefined;
    };
  }

  /** This process has written the record. */
  written(record: GenerationRecord): void {
    this.elsewhere.noteOwn(record);
    this.tell(record.generationId, record);
  }

  private tell(generationId: string, record: GenerationRecord | null): void {
    for (const tell of this.followers.get(generationId) ?? []) tell(record);
  }

  private schedule(): void {
    if (this.cancelTimer !== undefined || this.isLooking || this.followers.size === 0) return;
    this.cancelTimer = this.ports.clock.after(this.elsewhere.pauseMs(this.lookedIn), () => void this.look());
  }

  private hurry(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.schedule();
  }

  private async look(): Promise<void> {
    this.cancelTimer = undefined;
    this.isLooking = true;
    const { told } = this.elsewhere;
    const ids = [...this.followers.keys()].values();
    const found = await Promise.all(Array.from({ length: READS_AT_ONCE }, () => this.readAll(ids)));
    this.lookedIn = found.every(Boolean) ? told : undefined;
    this.isLooking = false;
    this.schedule();
  }

  /** One of several that take ids from the same list. Whether all could be read. */
  private async readAll(ids: Iterator<string, undefined>): Promise<boolean> {
    let isComplete = true;
    for (let next = ids.next(); next.done !== true; next = ids.next()) {
      try {
        this.tell(next.value, await this.ports.generations.read(next.value));
      } catch {
        // An outage has its own lines in the log.
        isComplete = false;
      }
    }
    return isComplete;
  }
}
