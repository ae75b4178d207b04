import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Environment } from './find-program.js';

const HERE = new URL('./', import.meta.url).href;

/** A separate process that runs a few lines of JavaScript; `here` in them is this folder's URL, for imports. */
export class ScriptProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  output = '';
  private readonly waiters = new Set<() => void>();

  constructor(args: readonly string[], environment: Environment) {
    this.child = spawn(process.execPath, [...args], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        this.tell();
      });
    }
    this.ended = once(this.child, 'close').then(([code]) => {
      this.tell();
      return { code: code as number | null, output: this.output };
    });
  }

  static ofLines(lines: string, environment: Environment = process.env): ScriptProcess {
    return new ScriptProcess(
      ['--input-type=module', '-e', `const here = ${JSON.stringify(HERE)};\n${lines}`],
      environment,
    );
  }

  /** One of the compiled programs in this folder. */
  static ofProgram(name: string, environment: Environment, ...args: readonly string[]): ScriptProcess {
    return new ScriptProcess([fileURLToPath(new URL(name, HERE)), ...args], environment);
  }

  /** Resolves with the first match in the output; rejects when the process ends without. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match) return match;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`The script ended without ${pattern}: ${this.output}`);
      await new Promise<void>((resolve) => this.waiters.add(resolve));
    }
  }

  private tell(): void {
    for (const waiter of this.waiters) waiter();
    this.waiters.clear();
  }
}
