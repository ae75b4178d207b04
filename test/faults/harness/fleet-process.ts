import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Started, supervision } from '../../servers/supervision.js';
import type { Span } from '../history/history.js';
import { storeTroubles } from './troubled-s3.js';

/** This build's compiled program. */
export const PROGRAM = fileURLToPath(new URL('../../../apps/cli/main.js', import.meta.url));
const LOOK_EVERY_MS = 50;
const MAX_STARTS = 20;
const LOG_TAIL = 2_000;

/** A compiled program, and a configuration that it understands. */
export interface Build {
  readonly program: string;
  readonly configFile: string;
}

export interface FleetOptions {
  readonly name: string;
  readonly role: 'rest' | 'worker';
  readonly folder: string;
  /** What each of its starts runs, in turn: one build, or those that an upgrade replaces by one another. */
  readonly builds: readonly [Build, ...Build[]];
  /** Variables over the shared configuration: its own ports and links. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** One process of the installation: the compiled program, that can be killed, stopped, frozen and started again. */
export class FleetProcess {
  private started: Started | undefined;
  private starting: Promise<Started> | undefined;
  /** Whether its end was asked for. */
  private isToEnd = false;
  /** Whether it was ended for good. */
  private isClosed = false;
  private logFrom = 0;
  private hasServed = false;
  private lastEnd: number | string | undefined;
  /** Ends that nobody had asked for, once it was serving. */
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

  /** When stores did not answer it in time, as its log has it. */
  get storeTroubles(): Span[] {
    return storeTroubles(this.log);
  }

  /** Starts it unless it runs, and waits until it serves; one that ends by itself before that is started again. */
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

  /** Starts it unless it runs, without waiting until it serves; one that was asked to end is waited for first. */
  async startAgain(): Promise<Started> {
    if (this.isToEnd) await this.started?.untilEnded();
    if (this.started) return this.started;
    if (this.isClosed) throw new Error(`${this.name} was ended for good.`);
    this.starting ??= this.launch().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  /** Sends a signal that ends it, and waits until it has. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { started } = this;
    if (!started) return;
    this.isToEnd = true;
    this.send(signal);
    await started.untilEnded();
  }

  /** Stops it in good order; one that has not ended after `graceMs` is killed, and the answer says so. */
  async stop(graceMs: number): Promise<number | string | undefined> {
    const late = sleep(graceMs, 'late', { ref: false });
    if ((await Promise.race([this.end('SIGTERM'), late])) !== 'late') return this.lastEnd;
    await this.end('SIGKILL');
    return `nothing within ${graceMs} ms`;
  }

  /** Ends it for good, frozen or not: whoever starts it again from then on gets an error. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.starting?.catch(() => undefined);
    this.thaw();
    await this.end('SIGKILL');
  }

  /** Starts it if there is none, serving or not. */
  async ensureStarted(): Promise<void> {
    if (!this.started) await this.startAgain();
  }

  /** Ends it at once, and answers whether it was there; `startAgain` waits until it has ended. */
  kill(): boolean {
    this.isToEnd = true;
    return this.send('SIGKILL');
  }

  /** Asks it to end, without waiting: it may be frozen. Answers whether it was there. */
  askToEnd(): boolean {
    this.isToEnd = true;
    return this.send('SIGTERM');
  }

  /** Answers whether it was there. */
  freeze(): boolean {
    return this.send('SIGSTOP');
  }

  thaw(): boolean {
    return this.send('SIGCONT');
  }

  /** Answers whether there was a process to send it to. */
  private send(signal: NodeJS.Signals): boolean {
    try {
      return this.started !== undefined && process.kill(this.started.pid, signal);
    } catch (error) {
      // It has just ended by itself, which is about to be told.
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

  /** A process says so in its log, whichever its role. */
  private isServing(): boolean {
    this.hasServed ||= readFileSync(this.options.logFile).subarray(this.logFrom).includes('"msg":"serving"');
    return this.hasServed;
  }
}
