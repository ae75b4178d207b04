// Goal: a check of a data folder reports whether a server could start there, and changes nothing; a folder that is
// moved or restored is the same installation, one with another secret is not.
// Method: the compiled program's own commands over folders in every state; the content of the folders is compared
// before and after.
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { MIGRATIONS } from '../../adapters/sqlite/schema.js';
import { Place } from './place.js';

const CHECK = ['migrate', '--check'];

describe('darkroom migrate --check of a data folder', () => {
  let place: Place;
  beforeEach(() => {
    place = new Place({ secret_file: null });
  });
  afterEach(() => place.remove());

  const inData = (name: string) => join(place.folder, 'data', name);

  /** Every file with its bytes, except for what SQLite keeps beside a database while it is read. */
  function everything(): Map<string, string> {
    const files = readdirSync(place.folder, { recursive: true, withFileTypes: true }).filter(
      (entry) => !/-(?:wal|shm)$/.test(entry.name),
    );
    return new Map(
      files.map((entry) => [
        join(entry.parentPath, entry.name),
        entry.isFile() ? readFileSync(join(entry.parentPath, entry.name), 'base64') : '',
      ]),
    );
  }

  function change(sql: string): void {
    const database = new DatabaseSync(inData('darkroom.db'));
    database.exec(`${sql}; PRAGMA wal_checkpoint(TRUNCATE)`);
    database.close();
  }

  /** Applied to the existing file, which keeps its permissions. */
  function dropTables(): string {
    const database = new DatabaseSync(inData('darkroom.db'));
    const names = database
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .all()
      .map(({ name }) => String(name));
    database.close();
    return names.map((name) => `DROP TABLE ${name}`).join('; ');
  }

  async function refused(environment: Readonly<Record<string, string>> = {}): Promise<string> {
    const before = everything();
    const sentence = await place.refusal(CHECK, environment);
    expect([...everything()]).to.deep.equal([...before]);
    return sentence;
  }

  it('fails in an empty folder, and leaves it empty', async () => {
    expect(await refused()).to.include(`There is no database in ${join(place.folder, 'data')}; run darkroom migrate`);
    expect(existsSync(join(place.folder, 'data'))).to.equal(false);
    expect(await refused({ DARKROOM_DATA_FOLDER: 'dta' })).to.include('dta');
  });

  it('is refused, as the migration itself is, with a catalog that does not fit the providers', async () => {
    const catalog = join(place.folder, 'catalog.yaml');
    writeFileSync(
      catalog,
      'version: 1\nmodels: [{ model_key: flux, price: 4, provider: fal, provider_settings: { endpoint: a/b } }]\n',
    );
    for (const command of [CHECK, ['migrate'], ['serve', '--migrate']]) {
      const before = everything();
      expect(await place.refusal(command, { DARKROOM_CATALOG: catalog })).to.include(
        `${catalog}:2: models[0].provider must be a connected provider, one of sandbox; fal is none.\n`,
      );
      expect([...everything()]).to.deep.equal([...before]);
    }
  });

  it('succeeds after a migration, and changes nothing', async () => {
    expect((await place.run(['migrate'])).code).to.equal(0);
    const before = everything();
    expect(await place.run(CHECK)).to.include({
      code: 0,
      stderr: '',
      stdout: `The data folder ${join(place.folder, 'data')} is ready; darkroom serve starts the service.\n`,
    });
    expect([...everything()]).to.deep.equal([...before]);
  });

  it('says so if there was no configuration file', async () => {
    rmSync(join(place.folder, 'darkroom.yaml'));
    expect((await place.run(['migrate'])).stdout).to.equal(
      `The data folder ${join(place.folder, 'data')} (no configuration file was found) is ready; darkroom serve starts the service.\n`,
    );
  });

  it('reports what was removed, and does not create it again', async () => {
    await place.json(['migrate']);
    for (const [name, words] of [
      ['secret', 'is missing, and no API key is valid without it; restore it from a backup'],
      ['objects', 'There is no folder'],
      ['darkroom.db', 'There is no database'],
    ] as const) {
      renameSync(inData(name), join(place.folder, 'aside'));
      expect(await refused(), name).to.include(words);
      renameSync(join(place.folder, 'aside'), inData(name));
    }
    expect((await place.run(CHECK)).code).to.equal(0);
  });

  it('reports a secret that was never created', async () => {
    await place.json(['migrate']);
    change('DELETE FROM installation');
    rmSync(inData('secret'));
    expect(await refused()).to.include('secret does not exist yet; run darkroom migrate');
  });

  it('leaves a database of an older release unchanged', async () => {
    await place.json(['migrate']);
    change(`${dropTables()}; ${MIGRATIONS[0]}; PRAGMA user_version = 1`);
    expect(await refused()).to.match(/has schema 1 and needs \d+; run darkroom migrate/);
    await place.json(['migrate']);
    expect((await place.run(CHECK)).code).to.equal(0);
  });

  it('accepts a moved or restored folder as the same installation, and another secret as another', async () => {
    await place.json(['init', '--account', 'studio']);
    cpSync(join(place.folder, 'data'), join(place.folder, 'copy'), { recursive: true });
    rmSync(join(place.folder, 'data'), { recursive: true });
    const restored = { DARKROOM_DATA_FOLDER: 'copy' };
    expect(await place.run(CHECK, restored)).to.include({ code: 0, stderr: '' });
    expect((await place.run(['accounts', 'list'], restored)).stdout).to.include('studio');
    writeFileSync(join(place.folder, 'copy', 'secret'), 'cd'.repeat(32));
    for (const args of [CHECK, ['serve'], ['accounts', 'list']]) {
      expect(await place.refusal(args, restored)).to.match(
        /^darkroom: The secret in \S+ is not the one that database darkroom\.db in \S+ was first used with; .*\n$/,
      );
    }
  });
});
