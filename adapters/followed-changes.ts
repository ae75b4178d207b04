import type { Log } from '../core/log.js';
import type { GenerationChanges, GenerationChangesListener, WrittenGeneration } from '../core/ports/stores.js';

/** A stream that is lost is opened again after this long, each time in a row after twice as long, up to the second. */
const REOPEN_MS = 1_000;
const MAX_REOPEN_MS = 60_000;
/** How long a stream stays open after the last follower, as the next one mostly comes soon. */
const LINGER_MS = 10_000;

/** Receives the reports of a stream. Reports of a stream that was lost or ended have no effect. */
export interface StreamListener {
  /** May be repeated. */
  opened(): void;
  written(change: WrittenGeneration): void;
  lost(error: unknown): void;
}

/** A stream of a database that reports the writes of every process to generations. */
export interface ChangeSource {
  /** Does not wait for the server, and reports nothing. */
  end(): void;
}

/**
 * Reports the changes of one stream to any number of followers. The stream is opened for the first follower, and a lost one
 * is replaced by a new one, about which the followers are notified.
 */
export class FollowedChanges implements GenerationChanges {
  private readonly listeners = new Set<GenerationChangesListener>();
  private source: ChangeSource | undefined;
  /** Changes with each stream, so that reports of an earlier one are ignored. */
  private term = 0;
  private isOpen = false;
  private failures = 0;
  private reopening: NodeJS.Timeout | undefined;
  private closing: NodeJS.Timeout | undefined;

  /** `openSource` returns before it reports anything. */
  constructor(
    private readonly openSource: (listener: StreamListener) => ChangeSource,
    private readonly log?: Log,
  ) {}

  follow(listener: GenerationChangesListener): () => void {
    // One for each call, should somebody follow twice.
    const own: GenerationChangesListener = {
      opened: () => listener.opened(),
      interrupted: () => listener.interrupted(),
      written: (change) => listener.written(change),
    };
    this.listeners.add(own);
    clearTimeout(this.closing);
    if (this.isOpen) own.opened();
    else if (this.source === undefined && this.reopening === undefined) this.open();
    return () => {
      if (!this.listeners.delete(own) || this.listeners.size > 0) return;
      clearTimeout(this.closing);
      this.closing = setTimeout(() => this.close(), LINGER_MS).unref();
    };
  }

  /** Ends the stream, and does not wait for the server. A new follower opens another one. */
  close(): void {
    clearTimeout(this.closing);
    clearTimeout(this.reopening);
    this.reopening = undefined;
    this.end();
  }

  private open(): void {
    this.reopening = undefined;
    this.term += 1;
    const { term } = this;
    const ifCurrent = (report: () => void): void => {
      if (term === this.term) report();
    };
    this.source = this.openSource({
      opened: () => ifCurrent(() => this.opened()),
      written: (change) =>
        ifCurrent(() => {
          for (const listener of this.listeners) listener.written(change);
        }),
      lost: (error) => ifCurrent(() => this.lost(error)),
    });
  }

  private opened(): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.failures = 0;
    for (const listener of this.listeners) listener.opened();
  }

  /** Ends the stream and notifies its followers. */
  private end(): void {
    const { source } = this;
    this.source = undefined;
    this.term += 1;
    if (this.isOpen) {
      this.isOpen = false;
      for (const listener of this.listeners) listener.interrupted();
    }
    source?.end();
  }

  private lost(error: unknown): void {
    this.end();
    if (this.failures === 0 && this.log) this.log.warn('generation stream lost', { error });
    const waitMs = Math.min(MAX_REOPEN_MS, REOPEN_MS * 2 ** this.failures);
    this.failures += 1;
    this.reopening = setTimeout(() => {
      if (this.listeners.size > 0) this.open();
      else this.reopening = undefined;
    }, waitMs).unref();
  }
}
