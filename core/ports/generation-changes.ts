import type { GenerationRecord } from '../generation/generation.js';

/** A record as some process has written it. */
export interface WrittenGeneration {
  readonly generationId: string;
  /** Absent where a tombstone has none. */
  readonly appId: string | undefined;
  readonly version: number;
  /** Decoded anew each time, as most are of no interest to a process. */
  record(): GenerationRecord;
}

/** None of its methods may throw. */
export interface GenerationChangesListener {
  /** Every write from now on is told of, until `interrupted`. What was written before is to be read. */
  opened(): void;
  /** Writes may have been missed, and are missed, until `opened`. */
  interrupted(): void;
  written(change: WrittenGeneration): void;
}

/** Tells what every process writes of generations, soon after it is durable. Where a store cannot, it is read instead. */
export interface GenerationChanges {
  /**
   * Tells the listener until the returned function is called; `opened` may come at once, later or never. Removals are not
   * told of. Nothing is asked of the store while nobody follows, but for a little while after the last one.
   */
  follow(listener: GenerationChangesListener): () => void;
}
