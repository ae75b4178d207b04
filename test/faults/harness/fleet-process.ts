import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Started, supervision } from '../../servers/supervision.js';
import type { Span } from '../../history/recorded/history.js';
import { storeTroubles } from './troubled-s3.js';

/** This build's compiled program. */
export const PROGRAM = fileURLToPath(new URL('../../../apps/cli/main.js', import.meta.url));
const LOOK_EVERY_MS = 50;
const MAX_STARTS = 20;
const LOG_TAIL = 2_000;

/** A compiled program, and a configuration that it accepts. */
export interface Build {
  readonly program: string;
  readonly configFile: string;
}

export interface FleetOptions {
  readonly name: string;
  readonly role: 'rest' | 'worker';
  readonly folder: string;
  /** The builds that successive starts run, in turn: a single build, or several during an upgrade. */
  readonly builds: readonly [Build, ...Build[]];
  /** Variables that override the shared configuration: the process's own ports and links. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** One process of the installation: the compiled program, which can be killed, stopped, frozen and restarted. */
export class FleetProcess {
  private started: Started | undefined;
  private starting: Promise<Started> | undefined;
  /** Whether its exit was requested. */
  private isToEnd = false;
  /** Whether it was closed for good. */
  private isClosed = false;
  private logFrom = 0;
  private hasServed = false;
  private lastEnd: number | string | undefined;
  /** Unrequested exits after it had started to serve. */
  readonly crashes: string[] = [];
  /** How often it was started. */
  starts = 0;

  constructor(private readonly options: FleetOptions) {}

  get name(): string {
    return this.options.name;
  }

  get role(): 'rest' | 'worker' {
    return this.options.role;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.started?.pid;
  }

  get log(): string {
    return readFileSync(this.options.logFile, 'utf8');
  }

  /** Periods in which stores did not answer the process in time, from its log. */
  get storeTroubles(): Span[] {
    return storeTroubles(this.log);
  }

  /** Starts it unless it runs, and waits until it serves; a process that exits by itself before that is restarted. */
  async ensureServing(): Promise<void> {
    for (let tries = 0; tries < MAX_STARTS; tries += 1) {
      const started = await this.startAgain();
      while (this.started === started) {
        if (this.isServing()) return;
        await sleep(LOOK_EVERY_MS);
      }
    }
    throw new Error(`${this.name} ended ${MAX_STARTS} times before it served: ${this.log.slice(-LOG_TAIL)}`);
  }

  /** Starts it unless it runs, without waiting until it serves; waits first for a requested exit. */
  async startAgain(): Promise<Started> {
    if (this.isToEnd) await this.started?.untilEnded();
    if (this.started) return this.started;
    if (this.isClosed) throw new Error(`${this.name} was ended for good.`);
    this.starting ??= this.launch().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  /** Sends a signal that ends it, and waits until it has exited. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { started } = this;
    if (!started) return;
    this.isToEnd = true;
    this.send(signal);
    await started.untilEnded();
  }

  /** Stops it gracefully; a process that has not exited after `graceMs` is killed, and the result says so. */
  async stop(graceMs: number): Promise<number | string | undefined> {
    const late = sleep(graceMs, 'late', { ref: false });
    if ((await Promise.race([this.end('SIGTERM'), late])) !== 'late') return this.lastEnd;
    await this.end('SIGKILL');
    return `nothing within ${graceMs} ms`;
  }

  /** Ends it for good, frozen or not: any later start throws. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.starting?.catch(() => undefined);
    this.thaw();
    await this.end('SIGKILL');
  }

  /** Starts it if it does not run, without waiting until it serves. */
  async ensureStarted(): Promise<void> {
    if (!this.started) await this.startAgain();
  }

  /** Kills it at once, and returns whether it was running; `startAgain` waits until it has exited. */
  kill(): boolean {
    this.isToEnd = true;
    return this.send('SIGKILL');
  }

  /** Requests its exit without waiting, because it may be frozen. Returns whether it was running. */
  askToEnd(): boolean {
    this.isToEnd = true;
    return this.send('SIGTERM');
  }

  /** Returns whether it was running. */
  freeze(): boolean {
    return this.send('SIGSTOP');
  }

  thaw(): boolean {
    return this.send('SIGCONT');
  }

  /** Returns whether there was a process to signal. */
  private send(signal: NodeJS.Signals): boolean {
    try {
      return this.started !== undefined && process.kill(this.started.pid, signal);
    } catch (error) {
      // The process has just exited by itself; its exit event is about to arrive.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      return false;
    }
  }

  private async launch(): Promise<Started> {
    const { role, folder, builds, environment, logFile, name } = this.options;
    const { program, configFile } = builds[this.starts % builds.length] ?? builds[0];
    appendFileSync(logFile, '');
    this.logFrom = readFileSync(logFile).byteLength;
    this.isToEnd = false;
    this.hasServed = false;
    this.starts += 1;
    const started = await (
      await supervision()
    ).start({
      program: process.execPath,
      args: [program, 'serve', '--role', role, '--config', configFile],
      environment: { PATH: process.env['PATH'] ?? '', HOME: folder, ...environment },
      folder,
      logFile,
      endSignal: 'SIGKILL',
    });
    this.started = started;
    void started.ended.then((how) => {
      this.lastEnd = how;
      const wasServing = this.isServing();
      if (wasServing && !this.isToEnd)
        this.crashes.push(`${name} ended by itself with ${how}: ${this.log.slice(-LOG_TAIL)}`);
      this.started = undefined;
    });
    return started;
  }

  /** Every role logs that it serves. */
  private isServing(): boolean {
    this.hasServed ||= readFileSync(this.options.logFile).subarray(this.logFrom).includes('"msg":"serving"');
    return this.hasServed;
  }
}
