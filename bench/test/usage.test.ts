/**
 * Goal: the cost of another process includes its own child processes, even those that have ended. Method: shells that
 * keep a core busy, in a child that is still running and in one that has ended; and a small process started by a
 * large one.
 */
import { expect } from 'chai';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { cpuMicrosOf, type Usage } from '../usage.js';

/** At least a fifth of a second on any machine. */
const BUSY = 'n=0; while [ $n -lt 600000 ]; do n=$((n+1)); done';
/** More than a shell takes to start, also on a slow machine. */
const LEAST_MICROS = 50_000;

describe('the CPU that another process has used', () => {
  let shell: ChildProcess | undefined;

  before(function () {
    if (!existsSync('/proc/self/stat')) this.skip();
  });
  afterEach(() => shell?.kill());

  /** Resolves once the shell has run the lines; it then waits for its end. */
  async function running(lines: string): Promise<number> {
    shell = spawn('sh', ['-c', `${lines}\necho done; read -r end`], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (!shell.stdout) throw new Error('Its output is read.');
    await once(shell.stdout, 'data');
    return cpuMicrosOf(shell.pid) ?? 0;
  }

  it('is that of the process itself', async () => {
    expect(await running(BUSY)).to.be.greaterThan(LEAST_MICROS);
  });

  it('includes a process that it has started, and one of that', async () => {
    // The child says that it is done, and the shell waits for it.
    shell = spawn('sh', ['-c', `sh -c 'sh -c "${BUSY.replaceAll('$', '\\$')}; echo done; read -r end"; :'; :`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (!shell.stdout) throw new Error('Its output is read.');
    await once(shell.stdout, 'data');
    expect(cpuMicrosOf(shell.pid)).to.be.greaterThan(LEAST_MICROS);
  });

  it('includes a process that it has started and that has ended', async () => {
    expect(await running(`(${BUSY})`)).to.be.greaterThan(LEAST_MICROS);
  });

  it('is little for one that has done nothing, and unknown for one that has never been', async () => {
    const busyMicros = await running(BUSY);
    shell?.kill();
    expect(await running('')).to.be.lessThan(busyMicros / 2);
    expect(cpuMicrosOf(undefined)).to.equal(undefined);
    expect(cpuMicrosOf(2 ** 30)).to.equal(undefined);
  });
});

describe('the most memory that a process has used', () => {
  it('is its own, however much its parent process has', async () => {
    const ofParent = Buffer.alloc(256 * 1_024 * 1_024, 1);
    const program = `import { usageOfThisProcess } from ${JSON.stringify(new URL('../usage.js', import.meta.url).href)};
      process.stdout.write(JSON.stringify(usageOfThisProcess()));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
    const { rssBytes, peakRssBytes } = JSON.parse(stdout) as Usage;
    expect(peakRssBytes).to.be.at.least(rssBytes).and.below(ofParent.byteLength);
  });
});
