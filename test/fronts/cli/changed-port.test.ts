// Goal: the command line continues to reach the service after the port has changed, and no key of another installation moves.
// Method: the program as a process over one data folder, started at one port and then at another, with one profile.
import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliRun } from '../../harness/cli-run.js';
import { freePort } from '../../servers/free-port.js';

describe('the command line after a change of the port', () => {
  let folder: string;
  let server: CliRun | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-port-'));
  });
  afterEach(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const profile = () => join(folder, 'profile.json');
  const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    new CliRun(folder, args, { environment: { DARKROOM_PROFILE: profile(), ...environment } });
  async function start(): Promise<string> {
    const port = String(await freePort());
    server = run(['serve'], { DARKROOM_REST_PORT: port });
    await server.until('stdout', 'Ctrl-C stops.');
    return `http://127.0.0.1:${port}`;
  }
  async function stop(): Promise<void> {
    server?.signal('SIGTERM');
    await server?.ended;
    server = undefined;
  }

  it('uses the key of the installation at its new address, and says so', async () => {
    const before = await start();
    await stop();
    const after = await start();
    await server?.until('stdout', `The command line uses its key of ${before} here from now on.`);
    const { code, stderr } = await run(['credits']).ended;
    expect(code, stderr).to.equal(0);
    const { last_url: last, keys } = JSON.parse(readFileSync(profile(), 'utf8')) as { last_url: string; keys: object };
    expect({ last, at: Object.keys(keys) }).to.deep.equal({ last: after, at: [after] });
  });

  it('leaves the key of another installation where it is', async () => {
    await start();
    await stop();
    const other = {
      last_url: 'http://127.0.0.1:1',
      keys: { 'http://127.0.0.1:1': 'svc_live_of-another-installation' },
    };
    writeFileSync(profile(), JSON.stringify(other), { mode: 0o600 });
    await start();
    await stop();
    expect(JSON.parse(readFileSync(profile(), 'utf8'))).to.deep.equal(other);
  });
});
