import type { ApiKey, App } from '../../core/access/credential.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { CredentialStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { APPS, KEY_CHANGES, KEYS } from './columns.js';
import { type Connections, rowsOfAccount } from './reader.js';
import { applied, created } from './writer.js';

/** Apps and API keys in SQLite. */
export class SqliteCredentialStore implements CredentialStore {
  constructor(private readonly db: Connections) {}

  insertApp(app: App): Promise<'created' | 'exists'> {
    return created(this.db.writer.run(APPS.insertion, ...APPS.valuesOf(app)));
  }

  async readApp(appId: string, call?: Cancellation): Promise<App | null> {
    throwIfAborted(call);
    return isUuid(appId) ? APPS.found(this.db.reader.get(`${APPS.selection} WHERE id = unhex(?, '-')`, appId)) : null;
  }

  async listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>> {
    const rows = await rowsOfAccount(this.db.reader, APPS.selection, accountId, page, call);
    return pageOf(rows.map(APPS.recordOf), page, (app) => app.appId);
  }

  async renameApp(appId: string, name: string): Promise<void> {
    await this.db.writer.run(`UPDATE apps SET name = ? WHERE id = unhex(?, '-')`, name, appId);
  }

  insertKey(key: ApiKey): Promise<'created' | 'exists'> {
    return created(this.db.writer.run(KEYS.insertion, ...KEYS.valuesOf(key)));
  }

  async findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null> {
    const { reader } = this.db;
    if ('digest' in by) return KEYS.found(reader.get(`${KEYS.selection} WHERE digest = ?`, by.digest));
    return isUuid(by.keyId) ? KEYS.found(reader.get(`${KEYS.selection} WHERE id = unhex(?, '-')`, by.keyId)) : null;
  }

  replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `UPDATE keys SET ${KEY_CHANGES.assigned} WHERE id = unhex(?, '-') AND version = ?`;
    return applied(this.db.writer.run(sql, ...KEY_CHANGES.valuesOf(next), next.keyId, expectedVersion));
  }

  async listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>> {
    const rows = await rowsOfAccount(this.db.reader, KEYS.selection, accountId, page, call);
    return pageOf(rows.map(KEYS.recordOf), page, (key) => key.keyId);
  }
}
