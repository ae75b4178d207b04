import type { ApiKey, App } from '../access/credential.js';
import type { Cancellation } from '../cancellation.js';
import type { Page, PageRequest } from '../paging.js';

/**
 * Keeps Apps and API keys. Each method is atomic for one App or key. Every method may throw `StoreUnavailable`. A read
 * that is given a `Cancellation` ends with `CallOver` as soon as the call is over.
 */
export interface CredentialStore {
  /** Inserts an App if its id is free. Durable on return. */
  insertApp(app: App): Promise<'created' | 'exists'>;

  readApp(appId: string, call?: Cancellation): Promise<App | null>;

  /** Apps of one account, in order of id. */
  listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>>;

  /** Inserts a key if its id and its digest are free. Durable on return. */
  insertKey(key: ApiKey): Promise<'created' | 'exists'>;

  /** The key with this digest or id, or null. Revoked and expired keys are returned too. */
  findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null>;

  /** Replaces a key if its version still is `expectedVersion`. Durable on return. Its digest never changes. */
  replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Keys of one account, in order of id. */
  listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>>;
}
