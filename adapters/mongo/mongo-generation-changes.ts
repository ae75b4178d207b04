import type { ChangeStream, Document, UUID } from 'mongodb';
import type { Log } from '../../core/log.js';
import type { GenerationChanges, GenerationChangesListener, WrittenGeneration } from '../../core/ports/stores.js';
import { recordFrom } from '../record-text.js';
import type { MongoConnection } from './connection.js';
import { textOf } from './documents.js';

/** How long the server holds an answer back when there is nothing to tell. */
const AWAIT_MS = 1_000;
/** A stream that is lost is opened again after this long, each time in a row after twice as long, up to the second. */
const REOPEN_MS = 1_000;
const MAX_REOPEN_MS = 60_000;
/** How long it stays open after the last follower, as the next one mostly comes soon. */
const LINGER_MS = 10_000;

/** Records are inserted and replaced whole, so that each change has the whole record without another read. */
const PIPELINE: Document[] = [
  { $match: { operationType: { $in: ['insert', 'replace'] } } },
  {
    $project: {
      'operationType': 1,
      'documentKey': 1,
      'fullDocument.version': 1,
      'fullDocument.app': 1,
      'fullDocument.record': 1,
    },
  },
];

interface Change {
  readonly operationType: string;
  readonly documentKey?: { readonly _id: UUID };
  readonly fullDocument?: { readonly version: number; readonly app: UUID | null; readonly record: string };
}

/**
 * Reports the writes of every process to generations, by one change stream per process, which keeps one connection waiting. The driver
 * resumes it where it was cut; where the server cannot, a new one is opened and its followers are notified.
 */
export class MongoGenerationChanges implements GenerationChanges {
  private readonly listeners = new Set<GenerationChangesListener>();
  private stream: ChangeStream | undefined;
  private isOpen = false;
  private failures = 0;
  private reopening: NodeJS.Timeout | undefined;
  private closing: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: MongoConnection,
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
    else if (this.stream === undefined && this.reopening === undefined) this.open();
    return () => {
      if (!this.listeners.delete(own) || this.listeners.size > 0) return;
      clearTimeout(this.closing);
      this.closing = setTimeout(() => this.close(), LINGER_MS).unref();
    };
  }

  /** Ends the stream, and does not wait for the server's word on it. A new follower opens another one. */
  close(): void {
    clearTimeout(this.closing);
    clearTimeout(this.reopening);
    this.reopening = undefined;
    const { stream } = this;
    this.stream = undefined;
    this.interrupted();
    stream?.close().catch(() => undefined);
  }

  private open(): void {
    this.reopening = undefined;
    const stream = this.connection.collection('generations').watch(PIPELINE, { maxAwaitTimeMS: AWAIT_MS });
    this.stream = stream;
    void this.read(stream);
  }

  private async read(stream: ChangeStream): Promise<void> {
    try {
      while (this.stream === stream) {
        // The first answer, also one that has nothing, shows that the stream is there.
        const change = (await stream.tryNext()) as Change | null;
        if (this.stream !== stream) return;
        if (stream.closed) throw new Error('The server has ended the change stream.');
        this.opened();
        if (change !== null) this.tell(change);
      }
    } catch (error) {
      this.lost(stream, error);
    }
  }

  private opened(): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.failures = 0;
    for (const listener of this.listeners) listener.opened();
  }

  private interrupted(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    for (const listener of this.listeners) listener.interrupted();
  }

  private tell({ documentKey, fullDocument }: Change): void {
    if (documentKey === undefined || fullDocument === undefined) return;
    const { version, app, record } = fullDocument;
    const change: WrittenGeneration = {
      generationId: textOf(documentKey._id),
      appId: app === null ? undefined : textOf(app),
      version,
      record: () => recordFrom(record),
    };
    for (const listener of this.listeners) listener.written(change);
  }

  private lost(stream: ChangeStream, error: unknown): void {
    if (this.stream !== stream) return;
    this.stream = undefined;
    this.interrupted();
    stream.close().catch(() => undefined);
    if (this.failures === 0 && this.log) this.log.warn('generation stream lost', { error });
    const waitMs = Math.min(MAX_REOPEN_MS, REOPEN_MS * 2 ** this.failures);
    this.failures += 1;
    this.reopening = setTimeout(() => {
      if (this.listeners.size > 0) this.open();
      else this.reopening = undefined;
    }, waitMs).unref();
  }
}
