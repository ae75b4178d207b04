// Goal: the key of a first start is shown once, on a terminal or in a file that only its owner can read, never in a
// pipe or a log; the suggested commands work with the configured catalog.
// Method: the service over an empty folder in this process, its output piped, and once as a process behind a
// pseudo-terminal; sh runs the commands it prints.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { CliRun } from '../../harness/cli-run.js';

const MAIN = fileURLToPath(new URL('../../../apps/cli/main.js', import.meta.url));
const SHIPPED = fileURLToPath(new URL('../../../../config/catalog.yaml', import.meta.url));
const KEY = /svc_live_[0-9A-Za-z]{49}/;
const BEHIND_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
const hasTerminals = spawnSync('python3', ['-c', 'import pty']).status === 0;

describe('a first start', () => {
  let folder: string;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-first-start-'));
    environment = {
      DARKROOM_PROFILE: join(folder, 'profile.json'),
      DARKROOM_REST_PORT: '0',
      DARKROOM_LOG_FORMAT: 'json',
    };
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  async function whileServing(until: string, look: (stdout: string) => Promise<void> | void): Promise<void> {
    const server = new CliRun(folder, ['serve'], { environment });
    try {
      await server.until('stdout', until);
      await look(server.stdout);
    } finally {
      server.signal('SIGTERM');
      await server.ended;
    }
  }

  for (const [how, args, until] of [
    ['text', [], 'to have it saved'],
    ['JSON', ['--json'], '}\n'],
  ] as const) {
    it(`writes the key to a private file where stdout is no terminal, and to no pipe: ${how}`, async () => {
      const server = new CliRun(folder, ['serve', ...args], { environment });
      await server.until('stdout', until);
      server.signal('SIGTERM');
      const { stdout, stderr } = await server.ended;
      const path = join(folder, 'data', 'first-key');
      expect(readFileSync(path, 'utf8')).to.match(new RegExp(`^${KEY.source}\n$`));
      expect(statSync(path).mode & 0o777).to.equal(0o600);
      expect(stdout).to.include(path).and.not.to.match(KEY);
      expect(stderr).to.include(JSON.stringify(path)).and.not.to.match(KEY);
    });
  }

  it('shows the key to a terminal, and writes it to no file', async function () {
    if (!hasTerminals) this.skip();
    const child = spawn('python3', ['-c', BEHIND_A_TERMINAL, process.execPath, MAIN, 'serve'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let shown = '';
    child.stdout.setEncoding('utf8');
    for await (const text of child.stdout) {
      shown += text as string;
      // Types Ctrl-C into the terminal.
      if (shown.includes('to have it saved') && !shown.includes('^C')) child.stdin.write('\u0003');
    }
    if (child.exitCode === null) await once(child, 'exit');
    expect(shown).to.match(KEY);
    expect(() => statSync(join(folder, 'data', 'first-key'))).to.throw('ENOENT');
    expect(
      shown
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .join('\n'),
    ).not.to.match(KEY);
  });

  it('suggests a model of the configured catalog, in a request that is accepted each time it is sent', async () => {
    const text = readFileSync(SHIPPED, 'utf8').replaceAll('sandbox-', 'studio-');
    writeFileSync(join(folder, 'catalog.yaml'), text);
    environment['DARKROOM_CATALOG'] = join(folder, 'catalog.yaml');
    await whileServing('to have it saved', async (stdout) => {
      const request = /^curl [^]*?(?=\n\n)/m.exec(stdout)?.[0] ?? '';
      expect(request).to.include('--fail-with-body').and.include('"model_key":"studio-');
      const answer = await promisify(execFile)('sh', ['-c', request], { cwd: folder });
      expect(JSON.parse(answer.stdout)).to.have.nested.property('data.status', 'queued');
    });
  });

  it('makes no person and no link where people cannot sign in', async () => {
    writeFileSync(join(folder, 'darkroom.yaml'), 'sign_in:\n  enabled: false\noauth:\n  enabled: false\n');
    await whileServing('to have it saved', (stdout) => {
      expect(stdout).to.include('API key').and.not.to.include('sign in');
    });
    expect(() => statSync(join(folder, 'data', 'sign-in-link'))).to.throw('ENOENT');
  });

  it('suggests none if no model makes a picture from a prompt alone', async () => {
    const video = readFileSync(SHIPPED, 'utf8')
      .split(/^(?= {2}- model_key:)/m)
      .filter((part, index) => index === 0 || part.includes('modality: video'));
    writeFileSync(join(folder, 'catalog.yaml'), video.join(''));
    environment['DARKROOM_CATALOG'] = join(folder, 'catalog.yaml');
    await whileServing('/models lists what there is.', (stdout) => {
      expect(stdout).not.to.include('curl');
    });
  });
});
