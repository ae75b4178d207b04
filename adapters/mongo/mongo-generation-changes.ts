import type { ChangeStream, Document, UUID } from 'mongodb';
import type { Log } from '../../core/log.js';
import type { WrittenGeneration } from '../../core/ports/stores.js';
import { type ChangeSource, FollowedChanges, type StreamListener } from '../followed-changes.js';
import { recordFrom } from '../record-text.js';
import type { MongoConnection } from './connection.js';
import { textOf } from './documents.js';

/** How long the server holds an answer back when there is nothing to tell. */
const AWAIT_MS = 1_000;
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
export class MongoGenerationChanges extends FollowedChanges {
  constructor(connection: MongoConnection, log?: Log) {
    super((listener) => new GenerationStream(connection, listener), log);
  }
}

/** One change stream, read until it fails or is ended. */
class GenerationStream implements ChangeSource {
  private readonly stream: ChangeStream;
  private isEnded = false;

  constructor(
    connection: MongoConnection,
    private readonly listener: StreamListener,
  ) {
    this.stream = connection.collection('generations').watch(PIPELINE, { maxAwaitTimeMS: AWAIT_MS });
    void this.read();
  }

  end(): void {
    this.isEnded = true;
    this.stream.close().catch(() => undefined);
  }

  private async read(): Promise<void> {
    try {
      while (!this.isEnded) {
        // The first answer, also one without a change, shows that the stream is open.
        const change = (await this.stream.tryNext()) as Change | null;
        if (this.isEnded) return;
        if (this.stream.closed) throw new Error('The server has ended the change stream.');
        this.listener.opened();
        if (change !== null) this.report(change);
      }
    } catch (error) {
      this.listener.lost(error);
    }
  }

  private report({ documentKey, fullDocument }: Change): void {
    if (documentKey === undefined || fullDocument === undefined) return;
    const { version, app, record } = fullDocument;
    this.listener.written({
      generationId: textOf(documentKey._id),
      appId: app === null ? undefined : textOf(app),
      version,
      record: () => recordFrom(record),
    } satisfies WrittenGeneration);
  }
}
