import type { GenerationChanges, WrittenGeneration } from '../ports/generation-changes.js';
import type { GenerationRecord } from './generation.js';

/** How often what is followed is read, in milliseconds, where other processes may change it. */
export const LOOK_EVERY_MS = 500;
/** The same where every change is made by this process, or the store tells of it: reading finds only what got lost. */
export const LOOK_SELDOM_MS = 5_000;
/** How many of this process's writes are remembered, as the store tells of them too. */
const MAX_OWN = 1_000;

export interface WatchOfWrites {
  /** Another process has written. */
  written(change: WrittenGeneration): void;
  /** The next look is to come sooner. */
  hurry(): void;
}

/**
 * How a watch learns what other processes write: from the store, where that tells, and by looking. Looks are seldom once
 * one has found everything that was written before the store began to tell.
 */
export class WritesElsewhere {
  private readonly own = new Map<string, number>();
  private followNoMore: (() => void) | undefined;
  private openings = 0;
  private isOpen = false;

  constructor(
    private readonly watch: WatchOfWrites,
    private readonly changes: GenerationChanges | undefined,
    private readonly isAlone: boolean,
  ) {}

  /** Names the time since when the store has told of every write; undefined while it does not. To be asked before a look. */
  get told(): number | undefined {
    return this.isOpen ? this.openings : undefined;
  }

  /** How long after a look that found everything, and before which this was `told`, the next one is due. */
  pauseMs(told: number | undefined): number {
    return this.isAlone || (told !== undefined && told === this.told) ? LOOK_SELDOM_MS : LOOK_EVERY_MS;
  }

  begin(): void {
    this.followNoMore ??= this.changes?.follow({
      opened: () => {
        this.openings += 1;
        this.isOpen = true;
      },
      interrupted: () => {
        this.isOpen = false;
        this.watch.hurry();
      },
      written: (change) => {
        if ((this.own.get(change.generationId) ?? -1) < change.version) this.watch.written(change);
      },
    });
  }

  end(): void {
    this.followNoMore?.();
    this.followNoMore = undefined;
    this.isOpen = false;
    this.own.clear();
  }

  /** This process has written the record, and needs not be told. */
  noteOwn({ generationId, version }: GenerationRecord): void {
    if (this.followNoMore === undefined) return;
    this.own.delete(generationId);
    this.own.set(generationId, version);
    const [oldest] = this.own.keys();
    if (this.own.size > MAX_OWN && oldest !== undefined) this.own.delete(oldest);
  }
}
