import type { ApiKey, App } from '../../core/access/credential.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { Page, PageRequest } from '../../core/paging.js';
import type { CredentialStore } from '../../core/ports/stores.js';
import { AccountThings } from './account-things.js';

/** Apps and API keys in this process's memory; gone when the process ends. */
export class MemoryCredentialStore implements CredentialStore {
  private readonly apps = new AccountThings<App>((app) => app.appId);
  private readonly keys = new AccountThings<ApiKey>((key) => key.keyId);
  private readonly keyIdByDigest = new Map<string, string>();

  async insertApp(app: App): Promise<'created' | 'exists'> {
    if (this.apps.get(app.appId) !== undefined) return 'exists';
    this.apps.insert(app);
    return 'created';
  }

  async readApp(appId: string, call?: Cancellation): Promise<App | null> {
    throwIfAborted(call);
    return this.apps.get(appId) ?? null;
  }

  async listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>> {
    throwIfAborted(call);
    return this.apps.list(accountId, page);
  }

  async insertKey(key: ApiKey): Promise<'created' | 'exists'> {
    if (this.keys.get(key.keyId) !== undefined || this.keyIdByDigest.has(key.digest)) return 'exists';
    this.keys.insert(key);
    this.keyIdByDigest.set(key.digest, key.keyId);
    return 'created';
  }

  async findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null> {
    const keyId = 'keyId' in by ? by.keyId : this.keyIdByDigest.get(by.digest);
    return (keyId === undefined ? undefined : this.keys.get(keyId)) ?? null;
  }

  async replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const current = this.keys.get(next.keyId);
    if (current?.version !== expectedVersion) return 'conflict';
    this.keys.put({ ...next, digest: current.digest, accountId: current.accountId });
    return 'applied';
  }

  async listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>> {
    throwIfAborted(call);
    return this.keys.list(accountId, page);
  }
}
