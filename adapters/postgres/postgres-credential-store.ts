import type { ApiKey, App } from '../../core/access/credential.js';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { CredentialStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { APPS, idOrNull, KEY_CHANGES, KEYS } from './columns.js';
import type { PostgresDatabase } from './connection.js';
import { outcomeOf, rowsOfAccount } from './postgres-records.js';

/** Apps and API keys in PostgreSQL. */
export class PostgresCredentialStore implements CredentialStore {
  constructor(private readonly db: PostgresDatabase) {}

  async insertApp(app: App): Promise<'created' | 'exists'> {
    return createdOf((await this.db.ask(APPS.insertion, APPS.valuesOf(app))).rowCount);
  }

  async readApp(appId: string, call?: Cancellation): Promise<App | null> {
    if (!isUuid(appId)) return null;
    return APPS.found((await this.db.ask(`${APPS.selection} WHERE id = $1`, [appId], call)).rows[0]);
  }

  async listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>> {
    const rows = await rowsOfAccount(this.db, APPS.selection, accountId, page, call);
    return pageOf(rows.map(APPS.recordOf), page, (app) => app.appId);
  }

  async renameApp(appId: string, name: string): Promise<void> {
    await this.db.ask('UPDATE darkroom.apps SET name = $2 WHERE id = $1', [idOrNull(appId), name]);
  }

  async insertKey(key: ApiKey): Promise<'created' | 'exists'> {
    return createdOf((await this.db.ask(KEYS.insertion, KEYS.valuesOf(key))).rowCount);
  }

  async findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null> {
    if ('digest' in by)
      return KEYS.found((await this.db.ask(`${KEYS.selection} WHERE digest = $1`, [by.digest])).rows[0]);
    if (!isUuid(by.keyId)) return null;
    return KEYS.found((await this.db.ask(`${KEYS.selection} WHERE id = $1`, [by.keyId])).rows[0]);
  }

  async replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `UPDATE darkroom.keys SET ${KEY_CHANGES.assigned(3)} WHERE id = $1 AND version = $2`;
    const { rowCount } = await this.db.ask(sql, [next.keyId, expectedVersion, ...KEY_CHANGES.valuesOf(next)]);
    return outcomeOf(rowCount);
  }

  async listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>> {
    const rows = await rowsOfAccount(this.db, KEYS.selection, accountId, page, call);
    return pageOf(rows.map(KEYS.recordOf), page, (key) => key.keyId);
  }
}

/** The outcome of an insert of which nothing else is asked. */
export function createdOf(rowCount: number): 'created' | 'exists' {
  return rowCount === 1 ? 'created' : 'exists';
}
