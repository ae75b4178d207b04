import { fork, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerOrder, StartMessage, SupervisorMessage } from './supervisor-messages.js';

const SUPERVISOR = fileURLToPath(new URL('./supervisor.js', import.meta.url));

/** A server under way. */
export interface Started {
  readonly pid: number;
  /** Resolves with its exit code, or the signal that ended it; does not keep this process alive. */
  readonly ended: Promise<number | string>;
  /** Waits for that, and keeps this process alive meanwhile. */
  untilEnded(): Promise<number | string>;
}

interface Waiting {
  readonly started: (server: Started) => void;
  readonly refused: (error: Error) => void;
  ended: (how: number | string) => void;
  pid?: number;
}

/**
 * The test process's end of its supervisor, which is started with the first server and does not keep the process alive.
 */
class Supervision {
  private readonly waiting = new Map<number, Waiting>();
  private folders = 0;
  private starts = 0;
  private pending = 0;

  private constructor(
    private readonly child: ChildProcess,
    private readonly scratch: string,
  ) {
    child.on('message', (message: SupervisorMessage) => this.take(message));
    child.on('exit', () => this.abandon());
    this.rest();
  }

  static async open(): Promise<Supervision> {
    const child = fork(SUPERVISOR, [], { detached: true, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const scratch = await new Promise<string>((resolve, reject) => {
      child.once('message', (message: SupervisorMessage) => message.type === 'ready' && resolve(message.scratch));
      child.once('exit', (code) => reject(new Error(`The supervisor of the servers ended at its start with ${code}.`)));
    });
    return new Supervision(child, scratch);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** A new folder, removed when this process has ended. */
  freshFolder(): string {
    this.folders += 1;
    const folder = join(this.scratch, String(this.folders));
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  start(order: ServerOrder): Promise<Started> {
    this.starts += 1;
    const start = this.starts;
    return this.awaiting(
      new Promise<Started>((started, refused) => {
        this.waiting.set(start, { started, refused, ended: () => undefined });
        const message: StartMessage = { start, order };
        this.child.send(message, (error) => error && refused(error));
      }),
    );
  }

  private take(message: SupervisorMessage): void {
    if (message.type === 'ready') return;
    const waiting = this.waiting.get(message.start);
    if (!waiting) return;
    if (message.type === 'started') {
      waiting.pid = message.pid;
      const ended = new Promise<number | string>((resolve) => {
        waiting.ended = resolve;
      });
      waiting.started({ pid: message.pid, ended, untilEnded: () => this.awaiting(ended) });
    } else {
      this.waiting.delete(message.start);
      if (message.type === 'refused') waiting.refused(new Error(message.reason));
      else waiting.ended(message.code ?? message.signal ?? 'an unknown end');
    }
  }

  /** The supervisor was killed: its servers are ended from here. */
  private abandon(): void {
    for (const { pid, refused, ended } of this.waiting.values()) {
      if (pid !== undefined) killIfThere(pid);
      refused(new Error('The supervisor of the servers has ended.'));
      ended('SIGKILL');
    }
    this.waiting.clear();
    opened = undefined;
  }

  /** Keeps this process alive for as long as something is awaited from the supervisor. */
  private async awaiting<T>(answer: Promise<T>): Promise<T> {
    this.pending += 1;
    this.child.ref();
    this.child.channel?.ref();
    try {
      return await answer;
    } finally {
      this.pending -= 1;
      if (this.pending === 0) this.rest();
    }
  }

  private rest(): void {
    this.child.unref();
    this.child.channel?.unref();
  }
}

let opened: Promise<Supervision> | undefined;

/** This process's one supervisor. */
export function supervision(): Promise<Supervision> {
  opened ??= Supervision.open();
  return opened;
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It had ended already.
  }
}
