import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectsDriver } from '../driver.js';

const FOLDER = 'objects';

/** A folder in the data folder, for one server. */
export const filesDriver: ObjectsDriver = {
  kind: 'objects',
  name: 'files',
  options: { type: 'object', properties: {}, additionalProperties: false },
  unshared: 'a folder of one machine',
  isInDataFolder: true,
  backup: {
    folder: FOLDER,
    async link(from, to) {
      const { linkObjects } = await import('./file-object-store.js');
      await linkObjects(from, to);
    },
    async copy(from, to) {
      const { copyObjects } = await import('./file-object-store.js');
      return copyObjects(from, to);
    },
    async count(folder) {
      const { countObjects } = await import('./file-object-store.js');
      return countObjects(folder);
    },
  },

  async open({ dataFolder, publicUrl, secret, clock, takesBytes }) {
    const { FileObjectStore } = await import('./file-object-store.js');
    const store = await FileObjectStore.open({
      folder: join(dataFolder, FOLDER),
      publicBaseUrl: publicUrl,
      secret,
      clock,
      takesBytes,
    });
    return { store, signedObjects: store.signedObjects };
  },

  async inspect({ dataFolder }) {
    const folder = join(dataFolder, FOLDER);
    if (!existsSync(folder)) return { unmade: `There is no folder ${folder}` };
    const { checkRights, REAL_DISK } = await import('./object-folder.js');
    await checkRights(REAL_DISK, folder);
    return {};
  },

  // Opening makes the folder.
  migrate: () => Promise.resolve([]),
};
