import type { ApiKey, App, Scope } from '../../core/access/credential.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { CredentialStore } from '../../core/ports/stores.js';
import { isUuid, type Row, uuidOfHex } from './database.js';
import { type Query, type SqliteReader, yieldBetweenPages } from './reader.js';
import type { SqliteWriter } from './writer.js';

const APP = `SELECT hex(id) AS id, hex(account) AS account, name, created_at FROM apps`;
const KEY = `
  SELECT hex(id) AS id, hex(account) AS account, hex(app) AS app, version, name, digest, scopes, created_at, expires_at, revoked_at,
    last_used_at, monthly_cap
  FROM keys`;
const ONE_ACCOUNT = `WHERE account = unhex(?, '-') AND id > unhex(?, '-') ORDER BY id LIMIT ?`;

/** Apps and API keys in SQLite. */
export class SqliteCredentialStore implements CredentialStore {
  private readonly appById: Query;
  private readonly appsByAccount: Query;
  private readonly keyById: Query;
  private readonly keyByDigest: Query;
  private readonly keysByAccount: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.appById = reader.query(`${APP} WHERE id = unhex(?, '-')`);
    this.appsByAccount = reader.query(`${APP} ${ONE_ACCOUNT}`);
    this.keyById = reader.query(`${KEY} WHERE id = unhex(?, '-')`);
    this.keyByDigest = reader.query(`${KEY} WHERE digest = ?`);
    this.keysByAccount = reader.query(`${KEY} ${ONE_ACCOUNT}`);
  }

  async insertApp({ appId, accountId, name, createdAt }: App): Promise<'created' | 'exists'> {
    return (await this.writer.write('insertApp', appId, accountId, name, createdAt)) === 1 ? 'created' : 'exists';
  }

  async readApp(appId: string, call?: Cancellation): Promise<App | null> {
    throwIfAborted(call);
    const row = isUuid(appId) ? this.appById.get(appId) : undefined;
    return row === undefined ? null : appOf(row);
  }

  async listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>> {
    await yieldBetweenPages(call);
    return pageOf(this.listed(this.appsByAccount, accountId, page).map(appOf), page, (app) => app.appId);
  }

  async insertKey(key: ApiKey): Promise<'created' | 'exists'> {
    const {
      keyId,
      accountId,
      appId,
      version,
      name,
      digest,
      scopes,
      createdAt,
      expiresAt = null,
      revokedAt = null,
      lastUsedAt = null,
      monthlyCap = null,
    } = key;
    const created = await this.writer.write(
      'insertKey',
      keyId,
      accountId,
      appId,
      version,
      name,
      digest,
      JSON.stringify(scopes),
      createdAt,
      expiresAt,
      revokedAt,
      lastUsedAt,
      monthlyCap,
    );
    return created === 1 ? 'created' : 'exists';
  }

  async findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null> {
    const row = 'digest' in by ? this.keyByDigest.get(by.digest) : this.keyWithId(by.keyId);
    return row === undefined ? null : keyOf(row);
  }

  async replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const {
      keyId,
      appId,
      version,
      name,
      scopes,
      createdAt,
      expiresAt = null,
      revokedAt = null,
      lastUsedAt = null,
      monthlyCap = null,
    } = next;
    const changed = await this.writer.write(
      'replaceKey',
      keyId,
      expectedVersion,
      appId,
      version,
      name,
      JSON.stringify(scopes),
      createdAt,
      expiresAt,
      revokedAt,
      lastUsedAt,
      monthlyCap,
    );
    return changed === 1 ? 'applied' : 'conflict';
  }

  async listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>> {
    await yieldBetweenPages(call);
    return pageOf(this.listed(this.keysByAccount, accountId, page).map(keyOf), page, (key) => key.keyId);
  }

  private keyWithId(keyId: string): Row | undefined {
    return isUuid(keyId) ? this.keyById.get(keyId) : undefined;
  }

  /** No id sorts before the empty one, where a list begins. */
  private listed(query: Query, accountId: string, page: PageRequest): Row[] {
    return query.all(accountId, page.cursor ?? '', checkedLimit(page.limit) + 1);
  }
}

function appOf(row: Row): App {
  return {
    appId: uuidOfHex(row['id'] as string),
    accountId: uuidOfHex(row['account'] as string),
    name: row['name'] as string,
    createdAt: row['created_at'] as number,
  };
}

function keyOf(row: Row): ApiKey {
  return {
    keyId: uuidOfHex(row['id'] as string),
    accountId: uuidOfHex(row['account'] as string),
    appId: uuidOfHex(row['app'] as string),
    version: row['version'] as number,
    name: row['name'] as string,
    digest: row['digest'] as string,
    scopes: JSON.parse(row['scopes'] as string) as Scope[],
    createdAt: row['created_at'] as number,
    ...(row['expires_at'] === null ? {} : { expiresAt: row['expires_at'] as number }),
    ...(row['revoked_at'] === null ? {} : { revokedAt: row['revoked_at'] as number }),
    ...(row['last_used_at'] === null ? {} : { lastUsedAt: row['last_used_at'] as number }),
    ...(row['monthly_cap'] === null ? {} : { monthlyCap: row['monthly_cap'] as number }),
  };
}
