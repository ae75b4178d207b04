import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A separate process that opens a data folder as a server, runs `task`, and prints each step on a line. */
export class ServerProcess {
  readonly lines: string[] = [];
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;

  constructor(folder: string, task: 'hold' | 'write') {
    const script = fileURLToPath(new URL('./server-process-main.js', import.meta.url));
    this.child = spawn(process.execPath, [script, folder, task], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.ended = once(this.child, 'close');
    if (this.child.stdout !== null)
      createInterface(this.child.stdout).on('line', (line) => {
        this.lines.push(line);
      });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Waits until it has printed `count` lines, or has ended. */
  async toldLines(count: number): Promise<void> {
    while (this.lines.length < count && this.child.exitCode === null && this.child.signalCode === null) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  /** Ends it as a power cut would, and waits until all its output has been read. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
