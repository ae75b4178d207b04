// Goal: the file with the key of the first start is deleted once the key was used, by the process whose file it is, also
// when another process served the use or the process died between the use and the deletion; the log never has the key.
// Method: the class alone on memory adapters with a clock that the test moves; then whole services over a folder, whose
// key is used over REST and MCP.
import { expect } from 'chai';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIRST_KEY_CHECK_MS, FirstKeyFile } from '../../apps/service/first-key-file.js';
import { Authenticator } from '../../core/access/authenticate.js';
import { createKey, expireKey } from '../../core/access/manage.js';
import { StoreUnavailable } from '../../core/errors.js';
import { CliRun } from '../harness/cli-run.js';
import { CoreHarness } from '../harness/core-harness.js';

interface Line {
  readonly msg: string;
  readonly file: string;
  readonly credentialId?: string;
  readonly fault?: string;
}

describe('the file of the first key', () => {
  let harness: CoreHarness;
  let folder: string;
  let path: string;
  let secret: string;
  let keyId: string;
  let lines: Line[];

  beforeEach(async () => {
    harness = await CoreHarness.open();
    folder = mkdtempSync(join(tmpdir(), 'darkroom-first-key-'));
    path = join(folder, 'first-key');
    const made = await createKey(harness.context, { appId: harness.caller.appId, name: 'first key' });
    ({ secret } = made);
    ({ keyId } = made.key);
    writeFileSync(path, `${secret}\n`);
    lines = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const log = (about: object, msg: string) => void lines.push({ ...(about as Line), msg });
  const open = (context = harness.context) =>
    new FirstKeyFile({ path, context, clock: harness.clock, logger: { info: log, warn: log } as never });
  /** A process that owns the file, and one that authenticates its requests. */
  const start = async () => {
    const file = open();
    const isThere = await file.watch();
    return { file, isThere, authenticator: new Authenticator(harness.context, (id) => file.used(id)) };
  };
  const deleted = () => ({ file: path, credentialId: keyId, msg: 'first key deleted' });

  it('stays until the key is accepted, and is gone before the request is served', async () => {
    const { isThere, authenticator } = await start();
    expect(isThere).to.equal(true);
    const other = await createKey(harness.context, { appId: harness.caller.appId, name: 'other' });
    await authenticator.authenticate(other.secret);
    await authenticator.authenticate('svc_live_wrong').catch(() => undefined);
    await harness.clock.advance(10 * FIRST_KEY_CHECK_MS);
    expect([existsSync(path), lines]).to.deep.equal([true, []]);
    await authenticator.authenticate(secret);
    expect([existsSync(path), lines]).to.deep.equal([false, [deleted()]]);
    await authenticator.authenticate(secret);
    await harness.clock.advance(10 * FIRST_KEY_CHECK_MS);
    expect(lines).to.deep.equal([deleted()]);
    expect(JSON.stringify(lines)).not.to.include(secret);
  });

  it('stays while the key is refused', async () => {
    const { authenticator } = await start();
    await expireKey(harness.context, keyId, 0);
    await authenticator.authenticate(secret).catch(() => undefined);
    expect([existsSync(path), lines]).to.deep.equal([true, []]);
  });

  it('is deleted at the next start if the process died after the use', async () => {
    await new Authenticator(harness.context).authenticate(secret);
    const { isThere } = await start();
    expect([isThere, existsSync(path), lines]).to.deep.equal([false, false, [deleted()]]);
    expect((await start()).isThere).to.equal(false);
    expect(lines).to.deep.equal([deleted()]);
  });

  it('is deleted within a minute if another process served the use, and not after the process was closed', async () => {
    const { file } = await start();
    const closed = open();
    await closed.watch();
    closed.close();
    await new Authenticator(harness.process()).authenticate(secret);
    closed.used(keyId);
    await harness.clock.advance(FIRST_KEY_CHECK_MS - 1);
    expect(existsSync(path)).to.equal(true);
    await harness.clock.advance(1);
    expect([existsSync(path), lines]).to.deep.equal([false, [deleted()]]);
    expect(await file.watch()).to.equal(false);
  });

  it('is deleted once of several processes of one folder', async () => {
    const all = [await start(), await start(), await start()];
    for (const { authenticator } of all) await authenticator.authenticate(secret);
    expect([existsSync(path), lines]).to.deep.equal([false, [deleted()]]);
  });

  it('is found again once the store is back', async () => {
    let isAway = true;
    const file = open(
      harness.process((call) => {
        if (isAway && call.name === 'credentials.findKey') throw new StoreUnavailable('The store is away.');
        return call.proceed();
      }),
    );
    expect(await file.watch()).to.equal(true);
    await new Authenticator(harness.process()).authenticate(secret);
    isAway = false;
    await harness.clock.advance(FIRST_KEY_CHECK_MS);
    expect([existsSync(path), lines]).to.deep.equal([false, [deleted()]]);
  });

  it('may be gone, or hold something else, which stays', async () => {
    rmSync(path);
    expect((await start()).isThere).to.equal(false);
    for (const text of ['', 'notes', `svc_live_${'a'.repeat(49)}`]) {
      writeFileSync(path, text);
      const { authenticator, isThere } = await start();
      await authenticator.authenticate(secret);
      expect([isThere, readFileSync(path, 'utf8')]).to.deep.equal([false, text]);
    }
    expect(lines).to.deep.equal([]);
  });

  it('is reported once if it cannot be deleted or read', async () => {
    const { authenticator } = await start();
    rmSync(path);
    mkdirSync(join(path, 'in the way'), { recursive: true });
    for (let uses = 0; uses < 3; uses += 1) {
      await authenticator.authenticate(secret);
      await harness.clock.advance(FIRST_KEY_CHECK_MS);
    }
    expect(lines.map(({ msg, credentialId }) => [msg, credentialId])).to.deep.equal([['first key not deleted', keyId]]);
    await start();
    await harness.clock.advance(10 * FIRST_KEY_CHECK_MS);
    expect(lines.slice(1)).to.deep.equal([{ file: path, fault: 'EISDIR', msg: 'first key not deleted' }]);
  });
});

describe('the first key of a service', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-first-key-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  interface Running {
    readonly server: CliRun;
    readonly url: string;
  }

  async function serve(args: readonly string[] = ['--json'], until = '}\n'): Promise<Running> {
    const environment = {
      DARKROOM_PROFILE: join(folder, 'profile.json'),
      DARKROOM_REST_PORT: '0',
      DARKROOM_LOG_FORMAT: 'json',
    };
    const server = new CliRun(folder, ['serve', ...args], { environment });
    await server.until('stdout', until);
    const [, port = ''] = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(server.stdout) ?? [];
    return { server, url: `http://127.0.0.1:${port}` };
  }
  const stop = async ({ server }: Running) => {
    server.signal('SIGTERM');
    return server.ended;
  };
  const path = () => join(folder, 'data', 'first-key');

  for (const [front, use] of [
    ['REST', (url: string, key: string) => fetch(`${url}/api/v1/developer/credits`, bearer(key))],
    [
      'MCP',
      (url: string, key: string) =>
        fetch(`${url}/api/v1/developer/mcp`, {
          ...bearer(key),
          method: 'POST',
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
        }),
    ],
  ] as const)
    it(`is deleted with its first use over ${front}, and the next start says how to make another`, async () => {
      const first = await serve();
      const { key_file: file, app_id: appId } = JSON.parse(first.server.stdout) as Record<string, string>;
      expect(file).to.equal(path());
      const key = readFileSync(path(), 'utf8').trim();
      await fetch(`${first.url}/api/v1/developer/credits`, bearer(`svc_live_${'a'.repeat(49)}`));
      expect(existsSync(path())).to.equal(true);
      expect((await use(first.url, key)).status).to.equal(200);
      expect(existsSync(path())).to.equal(false);
      expect((await use(first.url, key)).status).to.equal(200);
      const { stderr } = await stop(first);
      const found = stderr
        .split('\n')
        .filter((line) => line.includes('"first key deleted"'))
        .map((line) => JSON.parse(line) as Line);
      expect(found).to.have.lengthOf(1);
      expect(found[0]).to.include({ file: path() }).and.have.property('credentialId').a('string');
      expect(stderr).not.to.include(key);
      const second = await serve([], 'another API key');
      expect((await stop(second)).stdout)
        .to.include(` keys create ${appId} --name "another key"`)
        .and.include(` login --url ${second.url}`);
    });

  it('is in its file after a restart without a use, which the start says', async () => {
    await stop(await serve());
    const second = await serve([], 'first use');
    expect((await stop(second)).stdout).to.include(path());
    expect(existsSync(path())).to.equal(true);
  });

  function bearer(key: string) {
    return {
      headers: {
        'Authorization': `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Accept': 'application/json, text/event-stream',
      },
    };
  }
});
