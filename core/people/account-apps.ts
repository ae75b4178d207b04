import type { App } from '../access/credential.js';
import { requireWanted } from '../cancellation.js';
import type { Context } from '../context.js';
import { derivedUuid, isDerivedUuid } from '../derived-uuid.js';

type Ports = Pick<Context, 'credentials' | 'digests' | 'clock' | 'call'>;

/** An account's Apps are shown and chosen from as far as one page of the store. */
const MAX_APPS = 1_000;

/** The Apps of an account that keys can be made for, the default one first, then the oldest first. */
export interface AccountApps {
  readonly defaultApp: App;
  readonly others: readonly App[];
}

/**
 * The App that keys are made for unless another one is picked is the oldest that an operator has made. An account
 * without one gets one. The console's own App and those of connected clients are not for keys.
 */
export async function appsForKeys(ports: Ports, accountId: string): Promise<AccountApps> {
  const { items } = await ports.credentials.listApps(accountId, { limit: MAX_APPS }, ports.call);
  const defaultId = idOf(ports, 'default', accountId);
  const apps = items
    .filter(({ appId }) => appId === defaultId || !isDerivedUuid(appId))
    .toSorted((a, b) => a.createdAt - b.createdAt);
  const known = apps.find(({ appId }) => appId === defaultId) ?? apps[0];
  const defaultApp = known ?? (await derivedApp(ports, { kind: 'default', accountId, name: 'default' }));
  return { defaultApp, others: apps.filter((app) => app !== known) };
}

/** The App in which the account page acts for the people of an account. */
export function consoleApp(ports: Ports, accountId: string): Promise<App> {
  return derivedApp(ports, { kind: 'console', accountId, name: 'account page' });
}

/** Its id follows from the account, so that no concurrent requests make two of them. */
async function derivedApp(
  ports: Ports,
  { kind, accountId, name }: { readonly kind: string; readonly accountId: string; readonly name: string },
): Promise<App> {
  const appId = idOf(ports, kind, accountId);
  const known = await ports.credentials.readApp(appId, ports.call);
  if (known) return known;
  const app: App = { appId, accountId, name, createdAt: ports.clock.now() };
  requireWanted(ports.call);
  await ports.credentials.insertApp(app);
  return app;
}

function idOf({ digests }: Pick<Ports, 'digests'>, kind: string, accountId: string): string {
  return derivedUuid(digests.keyed(`${kind} app of ${accountId}`));
}
