import { createAccount, createApp, createKey } from '../core/access/manage.js';
import type { Context } from '../core/context.js';
import { grantCredits } from '../core/credits/operate.js';

const DEMO_CREDITS = 10_000;

export interface Demo {
  readonly accountId: string;
  readonly appId: string;
  /** Shown once; only its digest is kept. */
  readonly secret: string;
}

/**
 * Gives an empty data folder an account to try things with: 10,000 credits, one App and one key. Answers null when there
 * is an account with a key already. A start that was cut halfway is finished, not repeated.
 */
export async function firstStart(context: Context): Promise<Demo | null> {
  const [known] = (await context.accounts.list({ limit: 1 })).items;
  if (known) {
    const keys = await context.credentials.listKeys(known.accountId, { limit: 1 });
    if (known.name !== 'demo' || keys.items.length > 0) return null;
  }
  const { accountId } = known ?? (await createAccount(context, { name: 'demo' }));
  await grantCredits(context, { accountId, operationId: 'first-start', credits: DEMO_CREDITS, reason: 'Credits to try things with' });
  const [app = await createApp(context, { accountId, name: 'demo' })] = (await context.credentials.listApps(accountId, { limit: 1 })).items;
  const { secret } = await createKey(context, { appId: app.appId, name: 'first key' });
  return { accountId, appId: app.appId, secret };
}
