import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../core/json.js';
import { CliProcess, CliRun, type Ran } from '../harness/cli-run.js';
import { refusedStart } from '../harness/refused-start.js';

const SECRET = 'ab'.repeat(32);

/** A folder of configuration for the program's own commands. */
export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'darkroom-distributed-'));

  constructor(
    readonly config: JsonObject,
    secret = SECRET,
  ) {
    writeFileSync(join(this.folder, 'darkroom.secret'), secret, { mode: 0o600 });
    const common = {
      secret_file: 'darkroom.secret',
      log: { level: 'warn', format: 'json' },
      worker: { stop_grace_seconds: 5 },
    };
    writeFileSync(join(this.folder, 'darkroom.yaml'), JSON.stringify({ ...common, ...config }));
  }

  /** Starts a separate process that keeps running: a server. */
  start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): CliProcess {
    return new CliProcess(this.folder, args, { environment });
  }

  /** A command that ends, in this process. */
  run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return new CliRun(this.folder, args, { environment }).ended;
  }

  async json<T>(args: readonly string[]): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json']);
    expect(code, stderr).to.equal(0);
    return JSON.parse(stdout) as T;
  }

  /** The one sentence of a command that is refused. */
  async refusal(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, environment);
    const sentence = args[0] === 'serve' ? refusedStart(stderr) : stderr;
    expect(sentence).to.match(/^darkroom: [^\n]+[.]\n$/);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    return sentence;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
