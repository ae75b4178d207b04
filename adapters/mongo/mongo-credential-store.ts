import type { Collection, Document, UUID } from 'mongodb';
import type { ApiKey, App, Scope } from '../../core/access/credential.js';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { CredentialStore } from '../../core/ports/stores.js';
import type { MongoConnection } from './connection.js';
import { insertIfFree, listByAccount, ownUuid, textOf, uuidOf } from './documents.js';
import { BY_ID } from './schema.js';

interface AppDocument {
  readonly _id: UUID;
  readonly account: UUID;
  readonly name: string;
  readonly createdAt: number;
}

interface KeyDocument {
  readonly _id: UUID;
  readonly account: UUID;
  readonly app: UUID;
  readonly version: number;
  readonly name: string;
  readonly digest: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Absent from keys of releases before. */
  readonly lastUsedAt?: number | null;
  readonly monthlyCap?: number | null;
}

/** Apps and API keys in MongoDB. */
export class MongoCredentialStore implements CredentialStore {
  private readonly apps: Collection<AppDocument>;
  private readonly keys: Collection<KeyDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.apps = connection.collection('apps');
    this.keys = connection.collection('keys');
  }

  insertApp({ appId, accountId, name, createdAt }: App): Promise<'created' | 'exists'> {
    return this.create(this.apps, { _id: ownUuid(appId), account: ownUuid(accountId), name, createdAt });
  }

  async readApp(appId: string, call?: Cancellation): Promise<App | null> {
    const _id = uuidOf(appId);
    const found = _id === null ? null : await this.connection.ask((limits) => this.apps.findOne({ _id }, limits), call);
    return found === null ? null : appOf(found);
  }

  async listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>> {
    return pageOf(
      (await listByAccount(this.connection, this.apps, 'apps_by_account', accountId, page, call)).map(appOf),
      page,
      (app) => app.appId,
    );
  }

  /** Id and digest are unique alike, so an insert is refused completely if either is taken. */
  insertKey(key: ApiKey): Promise<'created' | 'exists'> {
    const { keyId, accountId, digest } = key;
    return this.create(this.keys, { _id: ownUuid(keyId), account: ownUuid(accountId), digest, ...changeableOf(key) });
  }

  async findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null> {
    const found = 'digest' in by ? await this.keyByDigest(by.digest) : await this.keyById(by.keyId);
    return found === null ? null : keyOf(found);
  }

  /** Account and digest are left as they are: a key is known by them. */
  async replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const filter = { _id: ownUuid(next.keyId), version: expectedVersion };
    const change = { $set: changeableOf(next) };
    const { matchedCount } = await this.connection.ask((limits) =>
      this.keys.updateOne(filter, change, { ...limits, hint: BY_ID }),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  async listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>> {
    return pageOf(
      (await listByAccount(this.connection, this.keys, 'keys_by_account', accountId, page, call)).map(keyOf),
      page,
      (key) => key.keyId,
    );
  }

  private async create<D extends Document & { readonly _id: UUID }>(
    collection: Collection<D>,
    document: D,
  ): Promise<'created' | 'exists'> {
    const isFirst = await insertIfFree(() =>
      this.connection.ask((limits) => collection.insertOne(document as never, limits)),
    );
    return isFirst ? 'created' : 'exists';
  }

  private keyByDigest(digest: string): Promise<KeyDocument | null> {
    return this.connection.ask((limits) => this.keys.findOne({ digest }, { ...limits, hint: 'keys_by_digest' }));
  }

  private async keyById(keyId: string): Promise<KeyDocument | null> {
    const _id = uuidOf(keyId);
    return _id === null ? null : this.connection.ask((limits) => this.keys.findOne({ _id }, limits));
  }
}

function changeableOf(key: ApiKey): Omit<KeyDocument, '_id' | 'account' | 'digest'> {
  const {
    appId,
    version,
    name,
    scopes,
    createdAt,
    expiresAt = null,
    revokedAt = null,
    lastUsedAt = null,
    monthlyCap = null,
  } = key;
  return { app: ownUuid(appId), version, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt, monthlyCap };
}

function appOf({ _id, account, name, createdAt }: AppDocument): App {
  return { appId: textOf(_id), accountId: textOf(account), name, createdAt };
}

function keyOf({
  _id,
  account,
  app,
  version,
  name,
  digest,
  scopes,
  createdAt,
  expiresAt,
  revokedAt,
  lastUsedAt = null,
  monthlyCap = null,
}: KeyDocument): ApiKey {
  return {
    keyId: textOf(_id),
    accountId: textOf(account),
    appId: textOf(app),
    version,
    name,
    digest,
    scopes,
    createdAt,
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(revokedAt === null ? {} : { revokedAt }),
    ...(lastUsedAt === null ? {} : { lastUsedAt }),
    ...(monthlyCap === null ? {} : { monthlyCap }),
  };
}
