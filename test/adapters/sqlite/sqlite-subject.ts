import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { aGeneration } from '../../fixtures/stored-records.js';

/** An empty data folder. The caller removes it. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'darkroom-sqlite-'));
}

/** Has a server write fifty generations into a data folder, and stop. */
export async function fillFolder(folder: string): Promise<void> {
  const stores = await openSqlite({ folder, role: 'server' });
  for (let n = 0; n < 50; n += 1) await stores.generations.insert(aGeneration(n));
  await stores.close();
}

/** One of the stores of a fresh data folder, which goes when the store is closed. */
export function sqliteSubject<Port extends object>(pick: (stores: SqliteStores) => Port): ContractSubject<Port> {
  const opened = new Map<Port, { readonly stores: SqliteStores; readonly folder: string }>();
  return {
    name: 'sqlite',
    supports: {},
    async open() {
      const folder = temporaryFolder();
      const stores = await openSqlite({ folder, role: 'server' });
      opened.set(pick(stores), { stores, folder });
      return pick(stores);
    },
    async close(port) {
      const { stores, folder } = opened.get(port) ?? {};
      opened.delete(port);
      await stores?.close();
      if (folder !== undefined) rmSync(folder, { recursive: true });
    },
  };
}
