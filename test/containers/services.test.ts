/**
 * Goal: the whole compose file loses no generation and charges none twice, whatever is killed, paused, rotated, upgraded or
 * restored below it.
 * Method: the commands of docs/deploying/compose.md, on a real engine with stand-ins for the other servers, while clients
 * create, repeat and cancel generations. Credits are counted from what REST shows. Only in the full run.
 */
import { expect } from 'chai';
import type { Suite } from 'mocha';
import { appendFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithout } from '../deploy/tools.js';
import { sizeOf } from '../harness/run-sizes.js';
import { COMPOSE_PAGE, ComposedServices, hasAccepted } from './composed-services.js';
import { documented, documentedCommand } from './documented.js';
import { Engine } from './engine.js';

const GENERATIONS = sizeOf('composedGenerations');
const PAUSE_MS = 3_000;
const NEXT_VERSION = '0.1.1';

if (GENERATIONS > 0) {
  describe('the services of the compose file', withMongo);
  describe('the services of the compose file with PostgreSQL', withPostgres);
}

function withMongo(this: Suite): void {
  this.timeout(1_200_000);
  const services = prepared();

  it('start by the documented commands, which show a key', () => services().start());

  it(`lose and double nothing when processes are killed and stores paused during ${GENERATIONS} generations`, async () => {
    const { engine } = services();
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
    await services().underLoad(async (history) => {
      for (const [index, fault] of faults.entries()) {
        await hasAccepted(((index + 1) * GENERATIONS) / (faults.length + 1))(history);
        await fault();
        console.log(`      fault ${index + 1} after ${history.accepted.length} accepted generations`);
      }
      await hasAccepted(GENERATIONS)(history);
    });
    await services().checkBooks();
  });

  it('take changed secrets of the database and of the object store', async () => {
    services().changeSecret('mongo_url', (url) => url.replace(/(darkroom:)[^@]+/, '$1another-password'));
    services().changeSecret('objects_secret_key', () => 'another-secret-of-the-store\n');
    await services().run('docker compose up --detach --wait --force-recreate');
    await services().underLoad();
    await services().checkBooks();
  });

  it('are upgraded without a failed request', async () => {
    const containers = async () => (await services().run('docker compose ps --quiet rest worker')).trim().split('\n');
    const old = await containers();
    await services().run(`docker tag darkroom:0.1.0 darkroom:${NEXT_VERSION}`);
    appendFileSync(services().pathOf('.env'), `DARKROOM_VERSION=${NEXT_VERSION}\n`);
    const upgrade = documented(COMPOSE_PAGE, 'sh upgrade.sh');
    const { all, failed } = await services().failuresDuring(() => services().underLoad(() => services().run(upgrade)));
    console.log(`      ${all} requests during the upgrade`);
    expect(failed).to.equal(0);
    const after = await containers();
    expect(after).to.have.length(old.length);
    expect(
      after.filter((id) => old.includes(id)),
      'every container is replaced',
    ).to.deep.equal([]);
    await services().checkBooks();
  });

  it('are restored by the documented commands to the state of the backup', async () => {
    const before = await services().checkBooks();
    const atBackup = new Set(services().accepted);
    await services().run(documented(COMPOSE_PAGE, '--file /backups/first.tar --directory /stores .'));
    await services().underLoad();
    const text = await services().run(documented(COMPOSE_PAGE, 'docker compose create mongo objects'));
    expect(text).to.match(new RegExp(`${before.generations} generations agree`));
    expect(await services().checkBooks(atBackup)).to.deep.equal(before);
  });

  async function killOne(service: string): Promise<void> {
    const [id = ''] = (await services().run(`docker compose ps --quiet ${service}`)).trim().split('\n');
    await services().run(`docker kill ${id} && docker start ${id}`);
  }

  async function pause(service: string): Promise<void> {
    await services().run(`docker compose pause ${service}`);
    await sleep(PAUSE_MS);
    await services().run(`docker compose unpause ${service}`);
  }
}

function withPostgres(this: Suite): void {
  this.timeout(1_200_000);
  const services = prepared();

  it('start by the documented commands, and lose nothing when the server is killed', async () => {
    writeFileSync(services().pathOf('.env'), 'COMPOSE_FILE=compose.yaml:compose.postgres.yaml\n');
    await services().start();
    await services().underLoad(async (history) => {
      await hasAccepted(GENERATIONS / 4)(history);
      await services().run('docker compose kill postgres && docker compose start postgres');
      await hasAccepted(GENERATIONS / 2)(history);
    });
    await services().checkBooks();
  });

  it('are restored from a dump by the documented commands to its state', async () => {
    const before = await services().checkBooks();
    const atBackup = new Set(services().accepted);
    await services().run(`mkdir -p -m 700 backups\n${documented(COMPOSE_PAGE, 'pg_dump')}`);
    await services().run(withoutDatabase(documentedCommand(COMPOSE_PAGE, '--create --numeric-owner')));
    await services().underLoad();
    await services().run(documented(COMPOSE_PAGE, 'docker compose create postgres objects'));
    await services().run(withoutDatabase(documentedCommand(COMPOSE_PAGE, '--extract --same-owner')));
    const text = await services().run(documented(COMPOSE_PAGE, 'pg_restore'));
    expect(text).to.match(new RegExp(`${before.generations} generations agree`));
    expect(await services().checkBooks(atBackup)).to.deep.equal(before);
    await services().underLoad();
    await services().checkBooks(atBackup);
  });

  /** The command as the page changes it for a database that has a dump. */
  function withoutDatabase(command: string): string {
    const changed = command.replace(/-v darkroom_mongo-data:\S+/, '');
    expect(changed).to.not.equal(command);
    return changed;
  }
}

/** Prepares services before the tests of a suite, and removes them after it. */
function prepared(): () => ComposedServices {
  let services: ComposedServices | undefined;
  before(async function before() {
    services = await ComposedServices.prepare(skipWithout(this, Engine.ofEnvironment()));
  });
  after(() => services?.remove());
  return () => services as ComposedServices;
}
