// Goal: a backup of a running server is a complete copy of one moment: restored, its books agree, its keys are valid
// and its outputs exist. An interrupted backup does not count as one, and no process opens an interrupted restore until
// the restore is repeated.
// Method: the compiled program on real folders: a server under load, commands killed right after a write, files removed
// and changed.
import { expect } from 'chai';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliProcess, CliRun, type Ran } from '../harness/cli-run.js';
import { CliService } from '../harness/cli-service.js';

const API = '/api/v1/developer';

interface Restored {
  readonly accounts: number;
  readonly generations: number;
  readonly findings: readonly string[];
  readonly objects: { readonly files: number };
}

describe('a backup of a data folder', () => {
  const away = mkdtempSync(join(tmpdir(), 'darkroom-backup-'));
  const at = (name: string) => join(away, name);
  let service: CliService<CliProcess>;
  let delivered: string;
  let bytes: Buffer;

  before(async () => {
    service = await CliService.startProcess();
    delivered = (await make()).generation_id;
    bytes = await outputOf(service.url, delivered);
  });
  after(async () => {
    await service.stop();
    rmSync(away, { recursive: true, force: true });
  });

  const headers = () => ({ 'authorization': `Bearer ${service.secret}`, 'content-type': 'application/json' });

  async function make(): Promise<{ readonly generation_id: string }> {
    return service.json(['generate', 'a lighthouse', '-m', 'sandbox-test']);
  }

  async function outputOf(url: string, id: string): Promise<Buffer> {
    const { data } = (await (await fetch(`${url}${API}/generations/${id}`, { headers: headers() })).json()) as {
      data: { outputs: { url: string }[] };
    };
    const answer = await fetch(
      new URL(new URL(data.outputs[0]!.url).pathname + new URL(data.outputs[0]!.url).search, url),
    );
    expect(answer.status).to.equal(200);
    return Buffer.from(await answer.arrayBuffer());
  }

  /** Creates generations one after another until it is stopped; returns how many. */
  function load(): { readonly stop: () => Promise<number> } {
    const stopped = new AbortController();
    const body = JSON.stringify({ model_key: 'sandbox-test', operation: 'image_generation', prompt: 'a boat' });
    const done = (async () => {
      let made = 0;
      for (; !stopped.signal.aborted; made += 1) {
        const { status } = await fetch(`${service.url}${API}/generations`, {
          method: 'POST',
          headers: { ...headers(), 'idempotency-key': `load-${Math.random()}` },
          body,
        });
        if (status !== 202 && status !== 429) throw new Error(`A create was answered with ${status}.`);
      }
      return made;
    })();
    return {
      stop: () => {
        stopped.abort();
        return done;
      },
    };
  }

  // Only programs that are killed or that serve requests are separate processes.
  const inProcess = (args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ran> =>
    new CliRun(away, args, { environment }).ended;
  const besideServer = (args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ran> =>
    new CliRun(service.folder, args, { environment: { ...service.caller, ...environment } }).ended;
  const backup = (name: string) => besideServer(['backup', at(name)]);
  const restoreCommand = (name: string, folder: string) =>
    [['restore', at(name), '--json'], { DARKROOM_DATA_FOLDER: at(folder) }] as const;
  const restore = (name: string, folder: string): Promise<Ran> => inProcess(...restoreCommand(name, folder));
  const restoring = (name: string, folder: string) => {
    const [args, environment] = restoreCommand(name, folder);
    return new CliProcess(away, args, { environment });
  };

  async function refusedRestore(name: string, folder: string): Promise<string> {
    const { code, stderr } = await restore(name, folder);
    expect(code).to.equal(1);
    expect(stderr).to.match(/^darkroom: [^\n]+\.\n$/);
    return stderr;
  }

  /** Kills a command as soon as a file exists; returns whether the command was still running. */
  async function killedAt(command: CliProcess, path: string): Promise<boolean> {
    while (!existsSync(path) && command.child.exitCode === null) await new Promise(setImmediate);
    command.child.kill('SIGKILL');
    await command.ended;
    return command.child.signalCode === 'SIGKILL';
  }

  it('made under load is restored to matching ledgers, valid keys and existing outputs', async () => {
    const working = load();
    const { code, stderr } = await backup('loaded');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(await working.stop()).to.be.above(0);
    expect(statSync(at('loaded')).mode & 0o777).to.equal(0o700);
    for (const name of ['darkroom.db', 'secret', 'backup.json'])
      expect(statSync(join(at('loaded'), name)).mode & 0o777, name).to.equal(0o600);

    const restored = JSON.parse((await restore('loaded', 'again')).stdout) as Restored;
    expect([restored.accounts, restored.findings]).to.deep.equal([1, []]);
    expect(restored.generations).to.be.above(0);
    const server = new CliProcess(at('again'), ['serve', '--json'], {
      environment: { DARKROOM_DATA_FOLDER: at('again'), DARKROOM_REST_PORT: '0' },
    });
    await server.until('stdout', '}\n');
    const { url } = JSON.parse(server.stdout) as { url: string };
    expect(
      (await fetch(`${url}${API}/credits`, { headers: headers() })).status,
      'the key of the first server',
    ).to.equal(200);
    expect((await outputOf(url, delivered)).equals(bytes)).to.equal(true);
    server.child.kill('SIGTERM');
    await once(server.child, 'close');
  });

  it('is refused before anything is copied if the secret cannot be read', async () => {
    const { code, stderr } = await besideServer(['backup', at('without')], { DARKROOM_SECRET_FILE: at('no-secret') });
    expect([code, stderr]).to.deep.equal([
      1,
      `darkroom: The secret ${at('no-secret')} cannot be read, and no API key would be valid without it.\n`,
    ]);
    expect(['without', 'without.partial'].map((name) => existsSync(at(name)))).to.deep.equal([false, false]);
  });

  it('removes no foreign files that have the name of an interrupted one', async () => {
    mkdirSync(at('mine.partial'));
    writeFileSync(join(at('mine.partial'), 'thesis.txt'), 'mine');
    writeFileSync(at('note.partial'), 'mine');
    for (const name of ['mine', 'note']) {
      const { code, stderr } = await backup(name);
      expect([code, stderr]).to.deep.equal([
        1,
        `darkroom: ${at(`${name}.partial`)} already exists, and is not the remains of an interrupted backup; move it away.\n`,
      ]);
    }
    expect([
      readFileSync(join(at('mine.partial'), 'thesis.txt'), 'utf8'),
      readFileSync(at('note.partial'), 'utf8'),
    ]).to.deep.equal(['mine', 'mine']);
  });

  for (const cutAt of ['objects', 'darkroom.db', 'secret']) {
    it(`interrupted after it began with ${cutAt} does not count, and the same command completes one`, async () => {
      const [name, partial] = [`cut at ${cutAt}`, `cut at ${cutAt}.partial`];
      const wasCut = await killedAt(service.start(['backup', at(name)]), join(at(partial), cutAt));
      // It may have been complete by the time of the kill, and still have had its name of one that is not.
      const isWhole = existsSync(at(name)) || existsSync(join(at(partial), 'backup.json'));
      if (wasCut && !isWhole)
        expect(await refusedRestore(partial, `nothing of ${cutAt}`)).to.include('is not a complete backup');
      rmSync(at(name), { recursive: true, force: true });
      expect((await backup(name)).code).to.equal(0);
      expect(existsSync(at(partial)), 'what was left is gone').to.equal(false);
      expect((await restore(name, `all of ${cutAt}`)).code).to.equal(0);
    });
  }

  it('whose restore was interrupted is not opened before it is restored again', async () => {
    expect((await backup('whole')).code).to.equal(0);
    await killedAt(restoring('whole', 'cut'), join(at('cut'), 'restoring', 'darkroom.db'));
    if (!existsSync(join(at('cut'), 'darkroom.db'))) {
      const environment = { DARKROOM_DATA_FOLDER: at('cut'), DARKROOM_REST_PORT: '0' };
      const { stderr } = await new CliProcess(away, ['serve'], { environment }).ended;
      expect(stderr).to.include(`A restore into ${at('cut')} did not finish; run darkroom restore again.`);
      expect((await restore('whole', 'cut')).code).to.equal(0);
    }
    expect((await inProcess(['verify'], { DARKROOM_DATA_FOLDER: at('cut') })).code).to.equal(0);
  });

  it('is refused where it would overwrite something: another folder, data, a running server, another secret', async () => {
    expect((await backup('kept')).code).to.equal(0);
    expect((await backup('kept')).stderr).to.equal(
      `darkroom: ${at('kept')} already exists; name a folder that does not exist.\n`,
    );
    expect((await backup('no/where')).stderr).to.equal(`darkroom: There is no folder ${dirname(at('no/where'))}.\n`);
    expect((await besideServer(['restore', at('kept')])).stderr).to.match(
      /^darkroom: Another server .*is using .+; stop it first, or choose another data folder\.\n$/,
    );
    mkdirSync(at('used'));
    writeFileSync(join(at('used'), 'letter.txt'), 'mine');
    expect(await refusedRestore('kept', 'used')).to.include('is not empty: letter.txt is in it');
    expect(readdirSync(at('used'))).to.include('letter.txt');
    writeFileSync(at('other-secret'), 'ab'.repeat(32));
    const { stderr } = await inProcess(['restore', at('kept')], {
      DARKROOM_DATA_FOLDER: at('fresh'),
      DARKROOM_SECRET_FILE: at('other-secret'),
    });
    expect(stderr).to.include('holds another secret than the backup');
  });

  it('is refused when it is damaged or incomplete', async () => {
    expect((await backup('damaged')).code).to.equal(0);
    const objects = join(at('damaged'), 'objects', 'objects');
    const shard = join(objects, readdirSync(objects)[0]!);
    const object = join(shard, readdirSync(shard)[0]!);
    const kept = readFileSync(object);
    renameSync(object, at('one object'));
    expect(await refusedRestore('damaged', 'd1')).to.include('is incomplete');
    // A new file, since the server's file is linked to the old one.
    writeFileSync(object, Buffer.from(kept.map((byte, index) => (index === 7 ? byte ^ 1 : byte))));
    expect(await refusedRestore('damaged', 'd1')).to.include(`${object} is damaged`);
    truncateSync(object, 5);
    expect(await refusedRestore('damaged', 'd1')).to.include(`${object} is damaged`);
    writeFileSync(object, kept);
    const database = join(at('damaged'), 'darkroom.db');
    const rows = readFileSync(database);
    writeFileSync(database, Buffer.from(rows.map((byte, index) => (index === 5_000 ? byte ^ 1 : byte))));
    expect(await refusedRestore('damaged', 'd1')).to.include(`${database} is damaged`);
    writeFileSync(database, rows);
    rmSync(join(at('damaged'), 'secret'));
    expect(await refusedRestore('damaged', 'd1')).to.include('has no secret');
    expect(
      readdirSync(at('d1')).filter((name) => !name.startsWith('server.lock')),
      'left by those that were refused',
    ).to.deep.equal([]);
    writeFileSync(join(at('damaged'), 'secret'), readFileSync(join(service.folder, 'data', 'secret')));
    expect((await restore('damaged', 'd1')).code, 'mended, into the folder of the attempts').to.equal(0);
  });

  it('is left to the tools of MongoDB over that database', async () => {
    const environment = {
      DARKROOM_STORES_DATABASE: 'mongo',
      DARKROOM_MONGO_URL: 'mongodb://127.0.0.1:1/',
      DARKROOM_SECRET_FILE: at('other-secret'),
    };
    for (const command of ['backup', 'restore']) {
      const { code, stderr } = await inProcess([command, at('shared')], environment);
      expect({ code, stderr: stderr.replace(/back up|restore/, 'keep') }).to.deep.equal({
        code: 1,
        stderr:
          'darkroom: Darkroom can keep only a data folder; for the database use the tools of MongoDB, as docs/operating/backup.md describes.\n',
      });
    }
  });
});
