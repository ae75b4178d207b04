// Goal: a backup has all that is in the data folder, or is refused with one sentence.
// Method: the configuration of a fresh folder, with drivers of objects that differ in where they keep them and in
// whether they have a backup.
import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ObjectsDriver } from '../../../adapters/driver.js';
import { filesDriver } from '../../../adapters/files/files-driver.js';
import { sqliteDriver } from '../../../adapters/sqlite/sqlite-driver.js';
import { backedUpStores, BackupRefused } from '../../../apps/backup/manifest.js';
import type { Config } from '../../../apps/config/config.js';
import { loadConfig } from '../../../apps/config/load-config.js';

describe('the stores of a backup', () => {
  let config: Config;
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-backed-up-'));
    config = await loadConfig({ folder, environment: {} });
    rmSync(folder, { recursive: true });
  });

  const { backup: _, ...unsaved } = filesDriver;
  const { isInDataFolder: __, ...unsavedElsewhere } = unsaved;
  const stores = (driver: ObjectsDriver) =>
    backedUpStores({ ...config, stores: { ...config.stores, objects: { driver, options: {} } } }, 'back up');

  it('are the database and the objects of a data folder', () => {
    expect(stores(filesDriver)).to.deep.equal({ database: sqliteDriver.backup, objects: filesDriver.backup });
  });

  it('are the database alone where the objects are kept elsewhere', () => {
    expect(stores(unsavedElsewhere)).to.deep.equal({ database: sqliteDriver.backup });
  });

  it('are refused where the objects of a data folder cannot be copied', () => {
    expect(() => stores({ ...unsaved, name: 'album' })).to.throw(
      BackupRefused,
      'Darkroom cannot back up the objects in the data folder, because the driver album has no backup.',
    );
  });
});
