import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
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

/** The file of an empty database, copied because making its tables takes longer than most tests. */
let empty: Promise<string> | undefined;

async function emptyDatabase(): Promise<string> {
  const folder = temporaryFolder();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await (await openSqlite({ folder, role: 'server' })).close();
  return join(folder, FILE);
}

const FILE = 'darkroom.db';

/** One of the stores of a fresh data folder, which goes when the store is closed. */
export function sqliteSubject<Port extends object>(pick: (stores: SqliteStores) => Port): ContractSubject<Port> {
  const opened = new Map<Port, { readonly stores: SqliteStores; readonly folder: string }>();
  return {
    name: 'sqlite',
    supports: {},
    async open() {
      const folder = temporaryFolder();
      copyFileSync(await (empty ??= emptyDatabase()), join(folder, FILE));
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
