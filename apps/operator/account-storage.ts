import type { Context } from '../../core/context.js';
import type { App } from '../../core/access/credential.js';
import type { UnchargedContent } from '../../core/generation/retention.js';
import type { Page } from '../../core/paging.js';
import type { UploadUsage } from '../../core/uploads/usage.js';

/** What one App's uploads take. */
export interface AppStorage extends UploadUsage {
  readonly appId: string;
  readonly name: string;
}

/** What an account makes the service keep, and how much it may be. */
export interface AccountStorage {
  readonly uncharged: UnchargedContent;
  readonly apps: Page<AppStorage>;
  readonly limits: StorageLimits;
}

export interface StorageLimits extends UploadUsage {
  readonly unchargedBytes: number;
}

/** With a page of the account's Apps: each one costs a query of the index of uploads. */
export async function accountStorage(
  { generations, uploads, settings, call }: Context,
  accountId: string,
  page: Page<App>,
): Promise<AccountStorage> {
  const uncharged = await generations.uncharged(accountId, call);
  const items: AppStorage[] = [];
  for (const { appId, name } of page.items)
    items.push({ appId, name, ...(await uploads.usage(accountId, appId, call)) });
  const limits = {
    unchargedBytes: settings.maxUnchargedContentBytesPerAccount,
    uploads: settings.maxStoredUploadsPerApp,
    unfinished: settings.maxUnfinishedUploadsPerApp,
    bytes: settings.maxStoredUploadBytesPerApp,
  };
  return { uncharged, apps: { ...page, items }, limits };
}
