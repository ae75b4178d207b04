/**
 * Goal: the whole compose file loses no generation and charges none twice, whatever is killed, paused, rotated, upgraded or
 * restored below it.
 * Method: the commands of docs/deploying/compose.md, on a real engine with stand-ins for the other servers, while clients
 * create, repeat and cancel generations. Credits are counted from what REST shows. Only in the full run.
 */
import { expect } from 'chai';
import type { Suite } from 'mocha';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithout } from '../deploy/tools.js';
import type { ClientHistory } from '../faults/client-history.js';
import { sizeOf } from '../harness/run-sizes.js';
import { ask, type Books, checkBooks } from './accounting.js';
import { documented, type Ran, runCommands } from './documented.js';
import { Engine } from './engine.js';
import { buildCommand, copyBuildContext } from './image-build.js';
import { PatientClients } from './patient-clients.js';

const PAGE = 'docs/deploying/compose.md';
const URL = 'http://localhost:8080';
const GENERATIONS = sizeOf('composedGenerations');
const CLIENTS = 6;
const PAUSE_MS = 3_000;
const NEXT_VERSION = '0.1.1';

if (GENERATIONS > 0) describe('the services of the compose file', services);

function services(this: Suite): void {
  this.timeout(1_200_000);
  let engine: Engine;
  let folder: string;
  let key: string;
  const accepted = new Set<string>();

  before(async function before() {
    engine = skipWithout(this, Engine.ofEnvironment());
    folder = mkdtempSync(join(tmpdir(), 'darkroom-services-'));
    copyBuildContext(folder);
    if (engine.docker('image', 'inspect', 'darkroom:0.1.0').status !== 0) await succeeds(buildCommand(), '.');
  });
  after(async () => {
    if (!folder) return;
    await run('docker compose down --volumes');
    rmSync(folder, { recursive: true, force: true });
  });

  it('start by the documented commands, which show a key', async () => {
    await succeeds('sh make-secrets.sh');
    // The stand-in for MongoDB has another name for its replica set.
    const url = join(folder, 'deploy/secrets/mongo_url');
    writeFileSync(url, readFileSync(url, 'utf8').replace('replicaSet=rs0', 'directConnection=true'));
    const text = await succeeds(documented(PAGE, 'sh make-secrets.sh'), '.');
    key = /svc_live_\w+/.exec(text)?.[0] ?? '';
    expect(key).to.not.equal('');
  });

  it(`lose and double nothing when processes are killed and stores paused during ${GENERATIONS} generations`, async () => {
    const faults: readonly (() => Promise<unknown>)[] = [
      () => killOne('worker'),
      () => killOne('rest'),
      () => pause('mongo'),
      () => pause('objects'),
      async () => {
        await engine.kill();
        await engine.start();
      },
    ];
    await underLoad(async (history) => {
      for (const [index, fault] of faults.entries()) {
        await until(() => history.accepted.length >= ((index + 1) * GENERATIONS) / (faults.length + 1));
        await fault();
        console.log(`      fault ${index + 1} after ${history.accepted.length} accepted generations`);
      }
      await until(() => history.accepted.length >= GENERATIONS);
    });
    report(await checkBooks(URL, key, accepted));
  });

  it('take changed secrets of the database and of the object store', async () => {
    const url = join(folder, 'deploy/secrets/mongo_url');
    writeFileSync(url, readFileSync(url, 'utf8').replace(/(darkroom:)[^@]+/, '$1another-password'));
    writeFileSync(join(folder, 'deploy/secrets/objects_secret_key'), 'another-secret-of-the-store\n');
    await succeeds('docker compose up --detach --wait --force-recreate');
    await underLoad((history) => until(() => history.accepted.length >= CLIENTS));
    report(await checkBooks(URL, key, accepted));
  });

  it('are upgraded without a failed request', async () => {
    const old = (await succeeds('docker compose ps --quiet rest worker')).trim().split('\n');
    await succeeds(`docker tag darkroom:0.1.0 darkroom:${NEXT_VERSION}`);
    appendFileSync(join(folder, 'deploy/.env'), `DARKROOM_VERSION=${NEXT_VERSION}\n`);
    const over = new AbortController();
    const asked = { all: 0, failed: 0 };
    const asking = (async () => {
      while (!over.signal.aborted) {
        asked.all += 1;
        const status = await fetch(`${URL}/healthz`).then(
          (response) => response.status,
          () => 0,
        );
        if (status !== 200) asked.failed += 1;
        await sleep(50);
      }
    })();
    await underLoad(() => succeeds(documented(PAGE, 'sh upgrade.sh')));
    over.abort();
    await asking;
    console.log(`      ${asked.all} requests during the upgrade`);
    expect(asked.failed).to.equal(0);
    const after = (await succeeds('docker compose ps --quiet rest worker')).trim().split('\n');
    expect(after).to.have.length(old.length);
    expect(
      after.filter((id) => old.includes(id)),
      'every container is replaced',
    ).to.deep.equal([]);
    report(await checkBooks(URL, key, accepted));
  });

  it('are restored by the documented commands to the state of the backup', async () => {
    const before = await checkBooks(URL, key, accepted);
    const [atBackup, backup] = [new Set(accepted), documented(PAGE, '--file /backups/first.tar --directory /stores .')];
    await succeeds(backup);
    await underLoad((history) => until(() => history.accepted.length >= CLIENTS));
    const text = await succeeds(documented(PAGE, 'docker compose down --volumes'));
    expect(text).to.match(new RegExp(`${before.generations} generations agree`));
    expect(await checkBooks(URL, key, atBackup)).to.deep.equal(before);
  });

  /** Runs clients meanwhile, and waits until every generation has ended. */
  async function underLoad(during: (history: ClientHistory) => Promise<unknown>): Promise<void> {
    const clients = new PatientClients(URL, key);
    const { history } = clients;
    await clients.run(CLIENTS, () => during(history));
    expect(history.contradictions).to.deep.equal([]);
    for (const { generationId = '' } of history.accepted) {
      accepted.add(generationId);
      for (;;) {
        const { status } = await ask(URL, key, `/generations/${generationId}`);
        if (status !== 'queued' && status !== 'running') break;
        await sleep(100);
      }
    }
  }

  async function killOne(service: string): Promise<void> {
    const [id = ''] = (await succeeds(`docker compose ps --quiet ${service}`)).trim().split('\n');
    await succeeds(`docker kill ${id} && docker start ${id}`);
  }

  async function pause(service: string): Promise<void> {
    await succeeds(`docker compose pause ${service}`);
    await sleep(PAUSE_MS);
    await succeeds(`docker compose unpause ${service}`);
  }

  function run(commands: string, below = 'deploy'): Promise<Ran> {
    return runCommands(commands, { folder: join(folder, below), environment: engine.environment });
  }

  async function succeeds(commands: string, below = 'deploy'): Promise<string> {
    const { code, text } = await run(commands, below);
    expect(code, `${commands}\n${text.slice(-4_000)}`).to.equal(0);
    return text;
  }
}

function report({ generations, entries, charged }: Books): void {
  console.log(`      ${generations} generations, ${entries} entries, ${charged} credits charged`);
}

/** Waits for a condition; the suite's timeout means that it never held. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(200);
}
