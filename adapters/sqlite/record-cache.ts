import type { GenerationRecord } from '../../core/generation/generation.js';

/** What a record takes in memory for each character of its text at most, with the answers that fronts keep with it. */
const BYTES_PER_CHARACTER = 4;

interface Kept {
  readonly record: GenerationRecord;
  readonly byteSize: number;
}

/**
 * Records as they were read, or as this process has written them, with a bound on their memory. A record that is used moves to
 * `recent`. When `recent` has half of the memory, it becomes `earlier`, and what `earlier` had is forgotten.
 *
 * A record is to be used only while the database says that its version is the current one. Then it makes no difference who
 * has written meanwhile: this process, or a tool beside it. Each change makes the version greater, so a version of an id
 * has one content. An id that was removed may begin again at an earlier version; so while an insert is under way nothing is
 * kept of its id. No other process inserts while a server runs: tools create no generations.
 */
export class RecordCache {
  private recent = new Map<string, Kept>();
  private earlier = new Map<string, Kept>();
  private recentBytes = 0;
  /** How many inserts are under way at an id. */
  private readonly inserting = new Map<string, number>();

  /** Keeps at most `maxBytes`. */
  constructor(private readonly maxBytes: number) {}

  get(generationId: string): GenerationRecord | undefined {
    if (this.inserting.has(generationId)) return undefined;
    const kept = this.recent.get(generationId);
    if (kept !== undefined) return kept.record;
    const older = this.earlier.get(generationId);
    if (older === undefined) return undefined;
    this.earlier.delete(generationId);
    this.add(generationId, older);
    return older.record;
  }

  /** Keeps a record whose text has so many characters. It cannot be changed from now on. */
  keep(record: GenerationRecord, characters: number): void {
    const { generationId } = record;
    this.forget(generationId);
    const byteSize = characters * BYTES_PER_CHARACTER;
    if (byteSize > this.maxBytes / 2 || this.inserting.has(generationId)) return;
    deepFreeze(record);
    this.add(generationId, { record, byteSize });
  }

  /** Does what inserts records at these ids. */
  async whileInserting<T>(generationIds: readonly string[], insert: () => Promise<T>): Promise<T> {
    for (const id of generationIds) {
      this.forget(id);
      this.inserting.set(id, (this.inserting.get(id) ?? 0) + 1);
    }
    try {
      return await insert();
    } finally {
      for (const id of generationIds) {
        const left = (this.inserting.get(id) ?? 0) - 1;
        if (left > 0) this.inserting.set(id, left);
        else this.inserting.delete(id);
      }
    }
  }

  forget(generationId: string): void {
    this.recentBytes -= this.recent.get(generationId)?.byteSize ?? 0;
    this.recent.delete(generationId);
    this.earlier.delete(generationId);
  }

  private add(generationId: string, kept: Kept): void {
    if (this.recentBytes + kept.byteSize > this.maxBytes / 2) {
      this.earlier = this.recent;
      this.recent = new Map();
      this.recentBytes = 0;
    }
    this.recent.set(generationId, kept);
    this.recentBytes += kept.byteSize;
  }
}

/** Several callers get the same object: one that tries to change it fails, and the others do not see it. */
function deepFreeze(value: unknown): void {
  // Most parts of a record are those of the version before.
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  for (const member of Object.values(value)) deepFreeze(member);
  Object.freeze(value);
}
