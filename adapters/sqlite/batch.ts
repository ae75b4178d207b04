import { isWriterFault, type Database } from './driver.js';
import { prepareWrites, type Unit, type Write, type WriteResult } from './writes.js';

/** Why one unit, or a whole batch, was not written. `unavailable`: not for what was written, so later it may be. */
export interface Failure {
  readonly message: string;
  readonly unavailable: boolean;
}

/** Applies batches of writes on one connection, each batch in one transaction that is durable on return. */
export class BatchWriter {
  private readonly writes: Record<string, Write>;

  constructor(private readonly database: Database) {
    this.writes = prepareWrites(database);
  }

  /** A result for each unit in order; one failure when nothing was written. */
  apply(units: readonly Unit[]): (WriteResult | Failure)[] | Failure {
    try {
      return this.transaction(() => units.map((unit) => this.write(unit)));
    } catch (error) {
      if (!isWriterFault(error)) return failureOf(error);
    }
    // Very rare: some unit cannot be written because of its content. Only then does each unit get a savepoint, so that
    // the rest can be written.
    try {
      return this.transaction(() => units.map((unit) => this.writeGuarded(unit)));
    } catch (error) {
      return failureOf(error);
    }
  }

  private transaction<T>(body: () => T): T {
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const result = body();
      this.database.exec('COMMIT');
      return result;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }

  /** SQLite has rolled back by itself after some errors, and then refuses to do it again. */
  private rollBack(): void {
    try {
      this.database.exec('ROLLBACK');
    } catch {
      // Nothing is open any more, which is what was wanted.
    }
  }

  private write([name, ...parameters]: Unit): WriteResult {
    const write = this.writes[name];
    if (write === undefined) throw new Error(`there is no write called ${name}`);
    return write(...parameters);
  }

  private writeGuarded(unit: Unit): WriteResult | Failure {
    this.database.exec('SAVEPOINT unit');
    let result: WriteResult | Failure;
    try {
      result = this.write(unit);
    } catch (error) {
      if (!isWriterFault(error)) throw error;
      this.database.exec('ROLLBACK TO unit');
      result = failureOf(error);
    }
    this.database.exec('RELEASE unit');
    return result;
  }
}

function failureOf(error: unknown): Failure {
  return { message: error instanceof Error ? error.message : String(error), unavailable: !isWriterFault(error) };
}
