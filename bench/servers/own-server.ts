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
  /** Whether it serves. Asked until it does. */
  readonly isReady: () => Promise<boolean>;
  /** What it stops at in order; SIGTERM when absent. */
  readonly stopSignal?: NodeJS.Signals;
}

/** A server of the run's own, beside those that tests use. It ends with the run, however that ends. */
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

  /** Resolves once it serves. Throws, with what it printed last, when it ends before or does not become ready. */
  static async start(kind: OwnServerKind, order: Omit<ServerOrder, 'logFile'>): Promise<OwnServer> {
    const logFile = join(order.folder, 'log');
    const started = await (await supervision()).start({ ...order, logFile });
    const server = new OwnServer(kind, started, logFile);
    await server.untilReady();
    return server;
  }

  /** What it and its own processes have used; undefined where that cannot be seen. */
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
