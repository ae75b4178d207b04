// Goal: a supervisor that runs `npm start` stops the service gracefully by stopping npm.
// Method: npm itself as a child process over an empty folder; the log shows how the service ended, and the test checks
// afterwards that its process is gone. The existing build is used.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));

describe('npm start', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-npm-start-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('forwards SIGTERM, and leaves no process behind', async () => {
    const npm = spawn('npm', ['start', '--ignore-scripts'], {
      cwd: REPOSITORY,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        npm_config_update_notifier: 'false',
        NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'],
        DARKROOM_DATA_FOLDER: join(folder, 'data'),
        DARKROOM_REST_PORT: '0',
        DARKROOM_LOG_FORMAT: 'json',
      },
    });
    const ended = once(npm, 'close');
    let log = '';
    npm.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    let isAsked = false;
    for await (const text of npm.stdout.setEncoding('utf8')) {
      if (!isAsked && (text as string).includes('Serving on')) isAsked = npm.kill('SIGTERM');
    }
    const [code, signal] = (await ended) as [number | null, string | null];
    const lines = log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { pid: number; msg: string });
    expect(lines.map(({ msg }) => msg).slice(-2), log).to.deep.equal(['stopping', 'stopped']);
    expect([code, signal]).to.deep.equal([0, null]);
    const [{ pid } = { pid: 0 }] = lines;
    expect(() => process.kill(pid, 0)).to.throw('ESRCH');
  });
});
