import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { supervision, type Started } from '../../test/servers/supervision.js';
import type { ServerOrder } from '../../test/servers/supervisor-messages.js';
import { cpuMicrosOf } from '../usage.js';

const READY_LIMIT_MS = 120_000;
const BETWEEN_TRIES_MS = 50;
const STOP_MS = 10_000;
const LOG_TAIL = 1_000;

export interface OwnServerKind {
  readonly title: string;
  /** Whether it is ready. Polled until it is. */
  readonly isReady: () => Promise<boolean>;
  /** The signal for an orderly stop; SIGTERM if absent. */
  readonly stopSignal?: NodeJS.Signals;
}

/**
 * A server that belongs to the run, in addition to those that tests use. It ends with the run, however the run ends.
 */
export class OwnServer {
  private hasEnded = false;

  private constructor(
    private readonly kind: OwnServerKind,
    private readonly started: Started,
    private readonly logFile: string,
  ) {
    void started.ended.then(() => {
      this.hasEnded = true;
    });
  }

  /** Resolves once it is ready. Throws an error with its last output if it ends early or does not become ready. */
  static async start(kind: OwnServerKind, order: Omit<ServerOrder, 'logFile'>): Promise<OwnServer> {
    const logFile = join(order.folder, 'log');
    const started = await (await supervision()).start({ ...order, logFile });
    const server = new OwnServer(kind, started, logFile);
    await server.untilReady();
    return server;
  }

  /** The CPU time of it and its own processes; undefined if that is not visible. */
  cpuMicros(): number | undefined {
    return cpuMicrosOf(this.started.pid);
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    process.kill(this.started.pid, this.kind.stopSignal ?? 'SIGTERM');
    if ((await Promise.race([this.started.untilEnded(), sleep(STOP_MS, 'late', { ref: false })])) === 'late')
      process.kill(this.started.pid, 'SIGKILL');
  }

  private async untilReady(): Promise<void> {
    for (let waitedMs = 0; waitedMs < READY_LIMIT_MS && !this.hasEnded; waitedMs += BETWEEN_TRIES_MS) {
      if (await this.kind.isReady()) return;
      await sleep(BETWEEN_TRIES_MS);
    }
    const state = this.hasEnded ? 'ended at its start' : 'did not become ready';
    await this.stop();
    throw new Error(`${this.kind.title} ${state}: ${readFileSync(this.logFile, 'utf8').slice(-LOG_TAIL).trim()}`);
  }
}
