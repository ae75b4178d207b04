import type { Filter, UUID } from 'mongodb';
import type { ApiKey, App } from '../../core/access/credential.js';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { CredentialStore } from '../../core/ports/stores.js';
import type { MongoConnection } from './connection.js';
import { Documents, ownUuid, present, textOf, uuidOf } from './documents.js';
import { BY_ID } from './schema.js';

interface AppDocument extends Pick<App, 'name' | 'createdAt'> {
  readonly _id: UUID;
  readonly account: UUID;
}

interface KeyDocument extends Pick<ApiKey, 'version' | 'name' | 'digest' | 'scopes' | 'createdAt'> {
  readonly _id: UUID;
  readonly account: UUID;
  readonly app: UUID;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Absent from keys of releases before. */
  readonly lastUsedAt?: number | null;
  readonly monthlyCap?: number | null;
  readonly hint?: string;
}

/** Apps and API keys in MongoDB. */
export class MongoCredentialStore implements CredentialStore {
  private readonly apps: Documents<AppDocument>;
  private readonly keys: Documents<KeyDocument>;

  constructor(connection: MongoConnection) {
    this.apps = new Documents(connection, 'apps');
    this.keys = new Documents(connection, 'keys');
  }

  async insertApp({ appId, accountId, name, createdAt }: App): Promise<'created' | 'exists'> {
    const document = { _id: ownUuid(appId), account: ownUuid(accountId), name, createdAt };
    return (await this.apps.insert(document)) ? 'created' : 'exists';
  }

  async readApp(appId: string, call?: Cancellation): Promise<App | null> {
    const _id = uuidOf(appId);
    const found = _id === null ? null : await this.apps.first({ _id }, {}, call);
    return found === null ? null : appOf(found);
  }

  async listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>> {
    const found = await this.apps.ofAccount('apps_by_account', accountId, page, call);
    return pageOf(found.map(appOf), page, (app) => app.appId);
  }

  async renameApp(appId: string, name: string): Promise<void> {
    const _id = uuidOf(appId);
    if (_id !== null) await this.apps.update({ _id }, { $set: { name } });
  }

  /** Id and digest are unique alike, so an insert is refused completely if either is taken. */
  async insertKey(key: ApiKey): Promise<'created' | 'exists'> {
    const { keyId, accountId, digest, hint } = key;
    const kept = { digest, ...(hint === undefined ? {} : { hint }) };
    const document = { _id: ownUuid(keyId), account: ownUuid(accountId), ...kept, ...changeableOf(key) };
    return (await this.keys.insert(document)) ? 'created' : 'exists';
  }

  async findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null> {
    const filter = 'digest' in by ? { digest: by.digest } : { _id: uuidOf(by.keyId) };
    const hint = 'digest' in by ? 'keys_by_digest' : BY_ID;
    const found = filter._id === null ? null : await this.keys.first(filter as Filter<KeyDocument>, { hint });
    return found === null ? null : keyOf(found);
  }

  /** Account, digest and hint are left as they are: a key is known by them. */
  async replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const filter = { _id: ownUuid(next.keyId), version: expectedVersion };
    return this.keys.update(filter, { $set: changeableOf(next) });
  }

  async listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>> {
    const found = await this.keys.ofAccount('keys_by_account', accountId, page, call);
    return pageOf(found.map(keyOf), page, (key) => key.keyId);
  }
}

function changeableOf(key: ApiKey): Omit<KeyDocument, '_id' | 'account' | 'digest' | 'hint'> {
  const { appId, version, name, scopes, createdAt } = key;
  const { expiresAt = null, revokedAt = null, lastUsedAt = null, monthlyCap = null } = key;
  return { app: ownUuid(appId), version, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt, monthlyCap };
}

export function appOf({ _id, account, name, createdAt }: AppDocument): App {
  return { appId: textOf(_id), accountId: textOf(account), name, createdAt };
}

export function keyOf({ _id, account, app, ...rest }: KeyDocument): ApiKey {
  return present<ApiKey>({ keyId: textOf(_id), accountId: textOf(account), appId: textOf(app), ...rest });
}
