import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../core/errors.js';
import type { Failure, Unit, WriteName, WriteResult } from './writes.js';
import type { SqlValue } from './database.js';

/** The parameters of the writer thread. */
export interface WriterSettings {
  readonly path: string;
  readonly maxPages: number | undefined;
}

/** Units to write, in order; or the wish to end. */
export type ToWriter = readonly Unit[] | 'close';

/** The thread is ready; or the outcomes of every unit of one or more messages, in order; or it is closed. */
export type FromWriter =
  | 'ready'
  | { readonly messages: number; readonly results: readonly (WriteResult | Failure)[] }
  | 'closed';

interface Waiting {
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: Error) => void;
}

/** Writes that may wait, sent or not, before more are refused. */
const MAX_WAITING = 100_000;
/** Writes in one message, and so in one transaction: what bounds how long the first of them waits. */
const MAX_UNITS_PER_MESSAGE = 2_048;

/**
 * The main thread's side of the one writing connection. Writes of the same turn of the event loop, and those that
 * arrive while earlier ones are being written, go to the thread as one message; a write resolves after its transaction
 * is durable. While the thread writes, no other message is sent, and the next one goes at the end of a turn, with what the
 * acknowledged writes have led to: a commit writes some forty pages whatever is in it, so few large ones cost less.
 */
export class SqliteWriter {
  /** Writes acknowledged, and the transactions they took. */
  readonly counters = { writes: 0, commits: 0 };
  private readonly waiting: Waiting[] = [];
  private units: Unit[] = [];
  private acknowledged = 0;
  private messagesUnderWay = 0;
  private flushDue = false;
  private refusal: StoreUnavailable | undefined;
  private isClosing = false;
  private readonly ended: Promise<void>;

  private constructor(private readonly worker: Worker) {
    worker.on('message', (message: FromWriter) => this.receive(message));
    worker.on('error', (error) =>
      this.refuse(new StoreUnavailable('The thread that writes the database has failed.', error)),
    );
    this.ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    void this.ended.then(() => this.refuse(new StoreUnavailable('The database is closed.')));
    worker.unref();
  }

  /** Starts the thread and waits until it has the database open. */
  static async start(settings: WriterSettings): Promise<SqliteWriter> {
    const worker = new Worker(new URL('./writer-thread.js', import.meta.url), { workerData: settings });
    await new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('error', reject);
    });
    return new SqliteWriter(worker);
  }

  /**
   * A write of one statement. Resolves to how many rows it changed once that is durable; rejects with `StoreUnavailable` when
   * that is not known.
   */
  run(sql: string, ...parameters: SqlValue[]): Promise<number> {
    return this.add([sql, ...parameters]) as Promise<number>;
  }

  /** The same for one of several statements, by its name. Resolves to its result. */
  write(name: WriteName, ...parameters: SqlValue[]): Promise<WriteResult> {
    return this.add([name, ...parameters]);
  }

  private add(unit: Unit): Promise<WriteResult> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    if (this.waiting.length - this.acknowledged >= MAX_WAITING) {
      return Promise.reject(new StoreUnavailable('Too many writes are waiting for the database.'));
    }
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) this.worker.ref();
      this.waiting.push({ resolve, reject });
      this.units.push(unit);
      this.flushSoon();
    });
  }

  get isWritable(): boolean {
    return this.refusal === undefined;
  }

  /** Waits for the writes in progress, then ends the thread. Later writes are refused. */
  async close(): Promise<void> {
    if (!this.isClosing) {
      this.isClosing = true;
      this.refusal ??= new StoreUnavailable('The database is closed.');
      while (this.units.length > 0) this.post();
      this.worker.ref();
      this.worker.postMessage('close' satisfies ToWriter, []);
    }
    await this.ended;
  }

  private flushSoon(): void {
    if (this.flushDue || this.messagesUnderWay > 0) return;
    this.flushDue = true;
    setImmediate(() => {
      this.flushDue = false;
      if (this.units.length > 0) this.post();
    });
  }

  private post(): void {
    const units = this.units.splice(0, MAX_UNITS_PER_MESSAGE);
    this.messagesUnderWay += 1;
    this.worker.postMessage(units satisfies ToWriter, []);
  }

  private receive(message: FromWriter): void {
    if (typeof message === 'string') return;
    const { messages, results } = message;
    this.messagesUnderWay -= messages;
    this.counters.commits += 1;
    for (const result of results) {
      const waiting = this.waiting[this.acknowledged] as Waiting;
      this.acknowledged += 1;
      if (typeof result === 'object') waiting.reject(errorOf(result));
      else waiting.resolve(result);
    }
    this.counters.writes += results.length;
    this.forgetAcknowledged();
    if (this.units.length > 0) this.flushSoon();
  }

  /**
   * The acknowledged ones stand in front and are cut off now and then, as cutting each off by itself would cost more.
   */
  private forgetAcknowledged(): void {
    if (this.acknowledged === this.waiting.length) {
      this.waiting.length = 0;
      this.acknowledged = 0;
      // A thread that is closing must be waited for: a process that ends under it aborts.
      if (!this.isClosing) this.worker.unref();
    } else if (this.acknowledged > MAX_UNITS_PER_MESSAGE) {
      this.waiting.splice(0, this.acknowledged);
      this.acknowledged = 0;
    }
  }

  /** Refuses all later writes with the error, and those that wait and were not sent. */
  refuseFromNow(error: StoreUnavailable): void {
    this.refusal ??= error;
    const unsent = this.units.splice(0).length;
    for (const { reject } of this.waiting.splice(this.waiting.length - unsent)) reject(error);
    this.forgetAcknowledged();
  }

  /** The same once the thread has ended: nothing responds to what was sent. */
  private refuse(error: StoreUnavailable): void {
    this.refusal ??= error;
    for (const waiting of this.waiting.splice(0).slice(this.acknowledged)) waiting.reject(error);
    this.acknowledged = 0;
    this.units = [];
  }
}

function errorOf({ message, unavailable }: Failure): Error {
  if (unavailable) return new StoreUnavailable(`The database could not be written: ${message}.`);
  return new Error(`The database refused a write: ${message}.`);
}

/** The outcome of a replacement or a removal that names the version which the writer saw. */
export async function applied(changed: Promise<WriteResult>): Promise<'applied' | 'conflict'> {
  return (await changed) === 1 ? 'applied' : 'conflict';
}

/** The outcome of an insert of a record whose key must be free. */
export async function created(changed: Promise<WriteResult>): Promise<'created' | 'exists'> {
  return (await changed) === 1 ? 'created' : 'exists';
}
