import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { programEnvironment } from '../harness/run-sizes.js';

/** This build's compiled program. */
export const PROGRAM = fileURLToPath(new URL('../../apps/cli/main.js', import.meta.url));
const READY_TRIES = 600;

/** The real program as a separate process, which can be killed and restarted over the same data folder. */
export class ServedProcess {
  private child: ChildProcess | undefined;
  private errors = '';
  /** Variables of its next start, in addition to those of this process. */
  environment: Readonly<Record<string, string>> = {};

  constructor(
    private readonly configFile: string,
    private readonly folder: string,
    readonly url: string,
    /** The program of its next start: this build, unless it is set to another one. */
    public program = PROGRAM,
  ) {}

  /** Starts it and waits until it is ready to serve. */
  async start(): Promise<void> {
    this.errors = '';
    const profile = `${this.folder}/profile.json`;
    const environment = { ...programEnvironment(), DARKROOM_PROFILE: profile, ...this.environment };
    const child = spawn(process.execPath, [this.program, 'serve', '--config', this.configFile], {
      cwd: this.folder,
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr?.on('data', (text: Buffer) => {
      this.errors = (this.errors + text.toString()).slice(-20_000);
    });
    this.child = child;
    for (let tries = 0; tries < READY_TRIES; tries += 1) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`The server ended at its start with ${child.exitCode ?? child.signalCode}: ${this.errors}`);
      if (await isReady(this.url)) return;
      await sleep(50);
    }
    throw new Error(`The server did not become ready: ${this.errors}`);
  }

  /** SIGKILL, or SIGTERM and an orderly exit; returns the exit code. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  /** The id of the running process, if there is one. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Standard error since its last start; at most the last 20,000 characters. */
  get log(): string {
    return this.errors;
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).status === 200;
  } catch {
    return false;
  }
}
