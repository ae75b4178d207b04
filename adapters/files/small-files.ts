import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Reads, writes and removes whole files that are small enough to be held in memory, each with one call. */
export interface SmallFiles {
  /**
   * Writes the bytes to `incoming`, a new file, and gives it the name `target`, replacing the file that was there; durable on
   * return. A failure leaves no `incoming`.
   */
  write(incoming: string, target: string, bytes: Uint8Array): Promise<void>;
  /** All bytes of the file, unless it is missing or has more than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Uint8Array | 'missing' | 'larger'>;
  /** Removes the file; durable on return. No error when there is none. */
  remove(path: string): Promise<void>;
}

/**
 * Reads and writes small files on threads of their own. To write one takes nine system calls. Through a file handle each of them
 * wakes a thread and then the event loop; here one message does all. Nor do files wait for pictures, which are decoded on the
 * threads that Node uses for files. Jobs of one turn of the event loop are sent together. A thread is started when it is needed,
 * and does not keep the process alive while it has nothing to do.
 *
 * What this process has just written is read on the calling thread: the system still has those bytes in memory, so that reading
 * them takes less time than asking a thread.
 */
export class SmallFilesThreads implements SmallFiles {
  readonly #threads: SmallFilesThread[] = [];
  /** When files were written, oldest first, in milliseconds of a clock that is never set. */
  readonly #writtenAt = new Map<string, number>();

  /** How many threads run. */
  get size(): number {
    return this.#threads.length;
  }

  async write(incoming: string, target: string, bytes: Uint8Array): Promise<void> {
    await this.#thread().do({ kind: 'write', incoming, target, bytes });
    this.#noteWritten(target);
  }

  async read(path: string, maxBytes: number): Promise<Uint8Array | 'missing' | 'larger'> {
    const job = { kind: 'read', path, maxBytes } as const;
    const result = this.#isJustWritten(path)
      ? successOf(runSmallFileJobs(fs, [job])[0] as SmallFileResult)
      : await this.#thread().do(job);
    return result as Uint8Array | 'missing' | 'larger';
  }

  async remove(path: string): Promise<void> {
    await this.#thread().do({ kind: 'remove', path });
  }

  #noteWritten(path: string): void {
    this.#writtenAt.delete(path);
    this.#writtenAt.set(path, performance.now());
    for (const oldest of this.#writtenAt.keys()) {
      if (this.#writtenAt.size <= MAX_JUST_WRITTEN && this.#isJustWritten(oldest)) break;
      this.#writtenAt.delete(oldest);
    }
  }

  #isJustWritten(path: string): boolean {
    const writtenAt = this.#writtenAt.get(path);
    return writtenAt !== undefined && performance.now() - writtenAt < JUST_WRITTEN_MS;
  }

  /** The first that is not busy, so that few run while there is little to do; or else the one with the least to do. */
  #thread(): SmallFilesThread {
    const idle = this.#threads.find((thread) => thread.jobs < BUSY_JOBS);
    if (idle !== undefined) return idle;
    if (this.#threads.length < MAX_THREADS) return this.#start();
    return this.#threads.reduce((least, thread) => (thread.jobs < least.jobs ? thread : least));
  }

  #start(): SmallFilesThread {
    const started = new SmallFilesThread(() => this.#threads.splice(this.#threads.indexOf(started), 1));
    this.#threads.push(started);
    return started;
  }
}

class SmallFilesThread {
  readonly #worker = new Worker(new URL('./small-files-thread.js', import.meta.url));
  readonly #sent: Waiting[] = [];
  #unsent: { readonly job: SmallFileJob; readonly waiting: Waiting }[] = [];

  /** Calls `ended` when the thread has ended, which it does by a failure only. */
  constructor(ended: () => void) {
    let failure: unknown;
    this.#worker.on('message', (results: readonly SmallFileResult[]) => this.#receive(results));
    this.#worker.on('error', (error) => (failure = error));
    this.#worker.once('exit', () => {
      ended();
      const lost = Object.assign(new Error('The thread of the object folder has failed.', { cause: failure }), {
        code: 'thread failed',
      });
      for (const { reject } of [...this.#sent.splice(0), ...this.#unsent.splice(0).map(({ waiting }) => waiting)])
        reject(lost);
    });
    this.#worker.unref();
  }

  get jobs(): number {
    return this.#sent.length + this.#unsent.length;
  }

  /** Rejects with an error that has the system's code. */
  do(job: SmallFileJob): Promise<SmallFileSuccess> {
    return new Promise((resolve, reject) => {
      if (this.jobs === 0) this.#worker.ref();
      if (this.#unsent.length === 0) setImmediate(() => this.#send());
      this.#unsent.push({ job, waiting: { resolve, reject } });
    });
  }

  #send(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    if (unsent.length === 0) return;
    for (const { waiting } of unsent) this.#sent.push(waiting);
    const jobs = unsent.map(({ job }) => job);
    const written = jobs.flatMap((job) => (job.kind === 'write' ? [job.bytes.buffer as ArrayBuffer] : []));
    this.#worker.postMessage(jobs, written);
  }

  #receive(results: readonly SmallFileResult[]): void {
    const answered = this.#sent.splice(0, results.length);
    if (this.jobs === 0) this.#worker.unref();
    for (const [index, { resolve, reject }] of answered.entries()) {
      try {
        resolve(successOf(results[index] as SmallFileResult));
      } catch (error) {
        reject(error as Error);
      }
    }
  }
}

/** Throws an error that has the system's code for a job that failed. */
function successOf(result: SmallFileResult): SmallFileSuccess {
  if (typeof result === 'object' && 'code' in result)
    throw Object.assign(new Error(`A small file failed: ${result.code}.`), { code: result.code });
  return result;
}

interface Waiting {
  readonly resolve: (result: SmallFileSuccess) => void;
  readonly reject: (error: Error) => void;
}

/** Much less than the time after which a system that needs the memory has forgotten what was written. */
const JUST_WRITTEN_MS = 10_000;
const MAX_JUST_WRITTEN = 1_000;
/** The jobs that one thread has when another one is started. */
const BUSY_JOBS = 16;
/** The same number of threads that Node uses for file calls. */
const MAX_THREADS = 4;

/** The synchronous calls that a small file takes; another set can stand in for a failing disk. */
export type SyncDisk = Pick<
  typeof fs,
  'openSync' | 'writeSync' | 'readSync' | 'fstatSync' | 'fsyncSync' | 'closeSync' | 'renameSync' | 'unlinkSync'
>;

export type SmallFileJob =
  | { readonly kind: 'write'; readonly incoming: string; readonly target: string; readonly bytes: Uint8Array }
  | { readonly kind: 'read'; readonly path: string; readonly maxBytes: number }
  | { readonly kind: 'remove'; readonly path: string };

/** The result of a job: the bytes that were read, or how it ended. Errors cross threads as their code. */
export type SmallFileResult = SmallFileSuccess | { readonly code: string };
type SmallFileSuccess = Uint8Array | 'done' | 'missing' | 'larger';

/**
 * Does all jobs on the calling thread and returns their results in order. Reads come first, as they need not wait for the disk's
 * syncs. A folder in which several names change is synced once.
 */
export function runSmallFileJobs(disk: SyncDisk, jobs: readonly SmallFileJob[]): SmallFileResult[] {
  const results: SmallFileResult[] = jobs.map((job) =>
    job.kind === 'read' ? resultOf(() => readWhole(disk, job.path, job.maxBytes)) : 'done',
  );
  const changed = new Map<string, number[]>();
  for (const [index, job] of jobs.entries()) {
    if (job.kind === 'read') continue;
    const result = resultOf(() => (job.kind === 'write' ? writeWhole(disk, job) : removeName(disk, job.path)));
    results[index] = result;
    if (result !== 'done') continue;
    const folder = dirname(job.kind === 'write' ? job.target : job.path);
    changed.set(folder, [...(changed.get(folder) ?? []), index]);
  }
  for (const [folder, indexes] of changed) {
    const synced = resultOf(() => syncFolder(disk, folder));
    if (synced !== 'done') for (const index of indexes) results[index] = synced;
  }
  return results;
}

function resultOf(act: () => SmallFileResult): SmallFileResult {
  try {
    return act();
  } catch (error) {
    return { code: error instanceof Error && 'code' in error ? String(error.code) : 'unknown' };
  }
}

function writeWhole(
  disk: SyncDisk,
  { incoming, target, bytes }: Extract<SmallFileJob, { kind: 'write' }>,
): SmallFileResult {
  const file = disk.openSync(incoming, 'wx', 0o600);
  try {
    try {
      for (let at = 0; at < bytes.byteLength;) {
        const written = disk.writeSync(file, bytes, at, bytes.byteLength - at);
        if (written === 0) return fail('ENOSPC');
        at += written;
      }
      disk.fsyncSync(file);
    } finally {
      disk.closeSync(file);
    }
    disk.renameSync(incoming, target);
    return 'done';
  } catch (error) {
    resultOf(() => removeName(disk, incoming));
    throw error;
  }
}

function readWhole(disk: SyncDisk, path: string, maxBytes: number): SmallFileResult {
  const file = opened(disk, path);
  if (file === undefined) return 'missing';
  try {
    const { size } = disk.fstatSync(file);
    if (size > maxBytes) return 'larger';
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size;) {
      const read = disk.readSync(file, bytes, at, size - at, at);
      // A stored file never gets shorter.
      if (read === 0) return fail('EIO');
      at += read;
    }
    return bytes;
  } finally {
    disk.closeSync(file);
  }
}

function removeName(disk: SyncDisk, path: string): SmallFileResult {
  try {
    disk.unlinkSync(path);
    return 'done';
  } catch (error) {
    if (isMissing(error)) return 'missing';
    throw error;
  }
}

/** Makes the names in a folder durable. */
function syncFolder(disk: SyncDisk, folder: string): SmallFileResult {
  const file = disk.openSync(folder, 'r');
  try {
    disk.fsyncSync(file);
    return 'done';
  } finally {
    disk.closeSync(file);
  }
}

function opened(disk: SyncDisk, path: string): number | undefined {
  try {
    return disk.openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function fail(code: string): never {
  throw Object.assign(new Error(code), { code });
}
