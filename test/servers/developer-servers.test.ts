/**
 * Goal: `npm run servers` gives a developer servers that keep their data across runs, and a configuration that Darkroom
 * accepts. Method: servers in folders of two clones at once, started twice over the same data; the program's own
 * configuration code reads the written file.
 */
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../apps/config/load-config.js';
import { AlreadyRunning, DeveloperServers } from './developer-servers.js';
import { findProgram, type FoundProgram } from './find-program.js';
import { PROGRAMS } from './programs.js';
import { orSkip, ServerAbsent } from './servers.js';

describe('servers for a developer', () => {
  let mongo: FoundProgram;
  const folders: string[] = [];
  const freshFolder = () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-clone-'));
    folders.push(folder);
    return folder;
  };

  before(async function () {
    const found = findProgram(PROGRAMS.mongo);
    const here =
      found && findProgram(PROGRAMS.minio)
        ? Promise.resolve(found)
        : Promise.reject(new ServerAbsent('MongoDB or MinIO is not on this machine: run `npm run servers:install`.'));
    mongo = await orSkip(this, here);
  });
  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it('keep the same ports, keys and data', async () => {
    const folder = freshFolder();
    const first = await DeveloperServers.start(folder, mongo);
    const { addresses } = first;
    await count(first.mongo.url, true);
    const secret = readFileSync(join(folder, 'secret'), 'utf8');
    await first.stop();
    const second = await DeveloperServers.start(folder, mongo);
    expect(second.addresses).to.deep.equal(addresses);
    expect(await count(second.mongo.url, false)).to.equal(1);
    expect(readFileSync(join(folder, 'secret'), 'utf8')).to.equal(secret);
    await second.stop();
  });

  it('run in two clones at once, and once in each', async () => {
    const [one, other] = [
      await DeveloperServers.start(freshFolder(), mongo),
      await DeveloperServers.start(freshFolder(), mongo),
    ];
    expect(new Set([one.mongo.port, one.minio.port, other.mongo.port, other.minio.port])).to.have.length(4);
    let refusal: unknown;
    await DeveloperServers.start(folders.at(-1) ?? '', mongo).catch((error: unknown) => {
      refusal = error;
    });
    expect(refusal).to.be.instanceOf(AlreadyRunning);
    await Promise.all([one.stop(), other.stop()]);
  });

  it('come with a configuration that only their owner can read', async () => {
    const folder = freshFolder();
    const servers = await DeveloperServers.start(folder, mongo);
    const config = await loadConfig({ file: servers.configFile, environment: {}, folder });
    expect(config.secretFile).to.equal(join(folder, 'secret'));
    expect(readFileSync(config.secretFile, 'utf8')).to.match(/^[0-9a-f]{64}\n$/);
    for (const name of ['secret', 'darkroom.yaml', 'settings.json'])
      expect(statSync(join(folder, name)).mode & 0o077, name).to.equal(0);
    await servers.stop();
  });

  it('report when one of them has ended by itself', async () => {
    const servers = await DeveloperServers.start(freshFolder(), mongo);
    const said = servers.untilOneEnds();
    process.kill(servers.minio.pid ?? 0, 'SIGKILL');
    expect(await said).to.match(/^minio ended by itself with SIGKILL/);
    await servers.stop();
  });
});

/** How many documents there are, after another one if that is wanted. */
async function count(url: string, isAdding: boolean): Promise<number> {
  const client = new MongoClient(url);
  try {
    const things = client.db('kept').collection('things');
    if (isAdding) await things.insertOne({ name: 'thing' });
    return await things.countDocuments();
  } finally {
    await client.close();
  }
}
