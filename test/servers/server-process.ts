import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, type FoundProgram } from './find-program.js';
import { freePort, isFree } from './free-port.js';
import { dataOf, type Settings } from './kind-of-server.js';
import { childrenOf, isGone, sendSignal } from './process-tree.js';
import { PROGRAMS } from './programs.js';
import { ServerAbsent } from './server-absent.js';
import { REGION, SERVER_KINDS, type ServerKind } from './server-kinds.js';
import { isStopped } from './stopped.js';
import { supervision, type Started } from './supervision.js';

const READY_TRIES = 1_200;
const BETWEEN_TRIES_MS = 50;
const PORT_TRIES = 5;
const STOP_LIMIT_MS = 20_000;
const PAUSE_TRIES = 2_000;
const BETWEEN_PAUSE_TRIES_MS = 5;
const LOG_TAIL = 2_000;
const ENDS = { inOrder: 'SIGTERM', atOnce: 'SIGKILL' } as const;

export interface ServerOptions {
  /** The data folder, which outlives this process; if absent, the data is in a temporary folder. */
  readonly folder?: string;
  /** Absent, a free one. One that is taken at the first start is replaced by a free one. */
  readonly port?: number | undefined;
  /** The credentials of an object store; random if absent. */
  readonly accessKey?: string;
  readonly secretKey?: string;
  /** Only for the substitute for MongoDB; true if absent. */
  readonly isSynced?: boolean;
  /**
   * Lines for its configuration file: the server block of nginx, except for the address; the databases of PgBouncer; or settings
   * of PostgreSQL, which override those of all test servers.
   */
  readonly lines?: string;
  /** Fills the data folder before the first start; runs as the user of this process. */
  readonly fill?: (data: string, found: FoundProgram) => Promise<void>;
}

/**
 * A real server of a test's own, to be killed, paused and started again on the same port over the same data. It ends
 * with the test process, however that ends. Needs the program: what the environment names cannot be killed.
 */
export class ServerProcess {
  private started: Started | undefined;

  private constructor(
    readonly kind: ServerKind,
    private readonly found: FoundProgram,
    private settings: Settings,
    private readonly isKept: boolean,
  ) {}

  /** Starts one and waits until it serves. Throws ServerAbsent where the program is not on this machine. */
  static async start(kind: ServerKind, options: ServerOptions = {}): Promise<ServerProcess> {
    const program = PROGRAMS[SERVER_KINDS[kind].program];
    const found = findProgram(program);
    if (!found)
      throw new ServerAbsent(
        `${program.title} is not on this machine; \`npm run servers:install\` gets it, or says why it cannot.`,
      );
    const folder = options.folder ?? (await supervision()).freshFolder();
    const {
      accessKey = 'darkroomtest',
      secretKey = randomBytes(20).toString('hex'),
      isSynced = true,
      lines = '',
    } = options;
    const settings = { folder, accessKey, secretKey, isSynced, lines, port: options.port ?? (await freePort()) };
    const server = new ServerProcess(kind, found, settings, options.folder !== undefined);
    mkdirSync(dataOf(settings), { recursive: true });
    await options.fill?.(dataOf(settings), found);
    await server.startOnFreePort();
    return server;
  }

  /** The URL without credentials. */
  get url(): string {
    return SERVER_KINDS[this.kind].url(this.settings.port);
  }

  get port(): number {
    return this.settings.port;
  }

  /** The S3 settings of an object store. */
  get s3(): {
    readonly endpoint: string;
    readonly region: string;
    readonly accessKey: string;
    readonly secretKey: string;
  } {
    const { accessKey, secretKey } = this.settings;
    return { endpoint: this.url, region: REGION, accessKey, secretKey };
  }

  /** The id of the running process; undefined while there is none. */
  get pid(): number | undefined {
    return this.started?.pid;
  }

  get program(): FoundProgram {
    return this.found;
  }

  /** The path of its data folder. */
  get data(): string {
    return dataOf(this.settings);
  }

  /** The end of the server's output. */
  get log(): string {
    try {
      return readFileSync(this.logFile, 'utf8').slice(-LOG_TAIL).trim();
    } catch {
      return '';
    }
  }

  /** Ends it at once, or with another signal that ends it, and waits until it has. The data stays. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { started } = this;
    if (!started) return;
    if (signal !== 'SIGKILL') this.send(signal);
    else await this.killAll(started);
    await started.untilEnded();
  }

  /** Replaces the lines in its configuration file; a running PostgreSQL reloads them. */
  async configure(lines: string): Promise<void> {
    this.settings = { ...this.settings, lines };
    await SERVER_KINDS[this.kind].prepare?.(this.settings, this.found);
    this.send('SIGHUP');
  }

  /** Waits for its end, whoever caused it; resolves with the exit code, or the signal. */
  async untilEnded(): Promise<number | string | undefined> {
    return this.started?.untilEnded();
  }

  /**
   * Starts it again, on the same port and data, and waits until it serves; one that is under way is ended in order
   * first.
   */
  async restart(): Promise<void> {
    await this.end();
    await this.launch();
  }

  /**
   * Suspends it and its child processes at any point of their work, and waits until all are stopped. Connections stay open, but
   * receive no answer. Does nothing if the process has ended.
   */
  async pause(): Promise<void> {
    const { started } = this;
    if (!started) return;
    await this.stopAndWait(started, [started.pid]);
    // A stopped process starts no more children.
    await this.stopAndWait(started, childrenOf(started.pid));
  }

  resume(): void {
    const { started } = this;
    if (started) for (const pid of [...childrenOf(started.pid), started.pid]) sendSignal(pid, 'SIGCONT');
  }

  /** Ends it for good, and removes its data unless a folder was given. */
  async stop(): Promise<void> {
    await this.end();
    SERVER_KINDS[this.kind].removeRemains?.(this.settings);
    if (!this.isKept) rmSync(this.settings.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async end(): Promise<void> {
    const { started } = this;
    if (!started) return;
    this.resume();
    this.send((SERVER_KINDS[this.kind].ends ?? ENDS).inOrder);
    const late = sleep(STOP_LIMIT_MS, 'late', { ref: false });
    if ((await Promise.race([started.untilEnded(), late])) === 'late') await this.kill();
  }

  /** Suspends all processes before it kills them, so that, as in a crash of the machine, none detects the end of another. */
  private async killAll(started: Started): Promise<void> {
    if (childrenOf(started.pid).length > 0) await this.pause();
    const pids = [...childrenOf(started.pid), started.pid];
    for (const pid of pids) sendSignal(pid, 'SIGKILL');
    while (!pids.every(isGone)) await sleep(BETWEEN_PAUSE_TRIES_MS);
  }

  private async stopAndWait(started: Started, pids: readonly number[]): Promise<void> {
    for (const pid of pids) sendSignal(pid, 'SIGSTOP');
    for (let tries = 0; this.started === started && !pids.every(isAtRest); tries += 1) {
      if (tries === PAUSE_TRIES) throw new Error(`${this.kind} could not be paused.`);
      await sleep(BETWEEN_PAUSE_TRIES_MS);
    }
  }

  private send(signal: NodeJS.Signals): void {
    if (this.started) sendSignal(this.started.pid, signal);
  }

  /** Between the choice of a port and its use another process may take it; at a first start any other does as well. */
  private async startOnFreePort(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      if (!(await isFree(this.port))) this.settings = { ...this.settings, port: await freePort() };
      try {
        return await this.launch();
      } catch (error) {
        if (tries === PORT_TRIES || !/address already in use|in use|EADDRINUSE/i.test(this.log)) throw error;
      }
    }
  }

  private async launch(): Promise<void> {
    const kind = SERVER_KINDS[this.kind];
    const { folder } = this.settings;
    const { inOrder, atOnce } = kind.ends ?? ENDS;
    await kind.prepare?.(this.settings, this.found);
    const started = await (
      await supervision()
    ).start({
      program: (await kind.command?.(this.found)) ?? this.found.path,
      args: kind.args(this.settings, this.found),
      // Leaves out the developer's own settings, and has a home folder without configuration.
      environment: { PATH: process.env['PATH'] ?? '', HOME: folder, ...kind.environment?.(this.settings, this.found) },
      folder,
      logFile: this.logFile,
      endSignal: this.isKept ? inOrder : atOnce,
      ...(kind.user === undefined ? {} : { user: kind.user }),
    });
    this.started = started;
    let end: number | string | undefined;
    void started.ended.then((how) => {
      end = how;
      this.started = undefined;
    });
    await this.untilReady(() => end);
  }

  private async untilReady(end: () => number | string | undefined): Promise<void> {
    let reason: unknown = 'it says that it is not ready';
    for (let tries = 0; tries < READY_TRIES; tries += 1) {
      if (end() !== undefined) throw new Error(`${this.kind} ended at its start with ${end()}: ${this.log}`);
      try {
        if (await SERVER_KINDS[this.kind].isReady(this.settings, this.found)) return;
      } catch (error) {
        reason = error;
      }
      await sleep(BETWEEN_TRIES_MS);
    }
    await this.kill();
    throw new Error(
      `${this.kind} did not become ready (${reason instanceof Error ? reason.message : String(reason)}): ${this.log}`,
    );
  }

  private get logFile(): string {
    return join(this.settings.folder, 'log');
  }
}

/** Whether a process is stopped or has ended. */
function isAtRest(pid: number): boolean {
  return isStopped(pid) || isGone(pid);
}
