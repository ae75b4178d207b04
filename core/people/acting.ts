import { SCOPES, type App, type Caller } from '../access/credential.js';
import { accountSuspended } from '../access/suspended.js';
import type { Context } from '../context.js';
import { isDerivedUuid } from '../derived-uuid.js';
import { ServiceError } from '../errors.js';
import { isUuid } from '../uuid.js';
import { appsForKeys, consoleApp } from './account-apps.js';
import { connectedApps } from './grants.js';
import type { Person } from './person.js';

type Ports = Pick<Context, 'credentials' | 'artefacts' | 'digests' | 'clock' | 'call'>;

/** `console`: what people do on the account page. `keys`: one that keys are made for. `program`: of a connected one. */
export type UsableAppKind = 'console' | 'keys' | 'program';

export interface UsableApp {
  readonly app: App;
  readonly kind: UsableAppKind;
}

/**
 * The Apps of their account that a person may use, that of the account page first: those that keys are made for, which
 * are everybody's, and those of the programs that this person has connected, which are nobody else's.
 */
export async function usableApps(ports: Ports, person: Person): Promise<readonly UsableApp[]> {
  const own = await consoleApp(ports, person.accountId);
  const { defaultApp, others } = await appsForKeys(ports, person.accountId);
  const programs: App[] = [];
  for (const appId of await connectedApps(ports, person.personId)) {
    const app = await ports.credentials.readApp(appId, ports.call);
    if (app?.accountId === person.accountId) programs.push(app);
  }
  return [
    { app: own, kind: 'console' },
    ...[defaultApp, ...others].map((app) => ({ app, kind: 'keys' }) as const),
    ...programs.toSorted((a, b) => a.createdAt - b.createdAt).map((app) => ({ app, kind: 'program' }) as const),
  ];
}

/**
 * A person as the caller of an App: their own id is the credential, with every scope and no cap. Throws NOT_FOUND for an
 * App that is not among `usableApps`, and DEVELOPER_TOKEN_REVOKED for a suspended account, as its keys are refused.
 */
export async function callerOfPerson(
  ports: Ports & Pick<Context, 'accounts'>,
  person: Person,
  asked: string,
): Promise<Caller> {
  const appId = asked.toLowerCase();
  if (!isUuid(asked) || !(await isUsable(ports, person, appId)))
    throw new ServiceError('NOT_FOUND', 'There is no such App.');
  await requireNotSuspended(ports, person);
  return { accountId: person.accountId, appId, credentialId: person.personId, scopes: SCOPES };
}

/** Throws DEVELOPER_TOKEN_REVOKED. */
export async function requireNotSuspended(
  { accounts, call }: Pick<Context, 'accounts' | 'call'>,
  { accountId }: Pick<Person, 'accountId'>,
): Promise<void> {
  const account = await accounts.read(accountId, call, 'totals');
  if (account?.suspendedAt !== undefined) throw accountSuspended();
}

/** Without a list of all Apps where the id alone says whose it is. */
async function isUsable(ports: Ports, person: Person, appId: string): Promise<boolean> {
  const app = await ports.credentials.readApp(appId, ports.call);
  if (app?.accountId !== person.accountId) return false;
  if (!isDerivedUuid(appId)) return true;
  if ((await connectedApps(ports, person.personId)).has(appId)) return true;
  return (await usableApps(ports, person)).some((usable) => usable.app.appId === appId);
}

/**
 * The App of a generation of the person's account. Throws TASK_NOT_FOUND alike for an unknown id, for another account's,
 * and for one of an App that is not among `usableApps`.
 */
export async function appOfGeneration(
  ports: Ports & Pick<Context, 'generations'>,
  person: Person,
  generationId: string,
): Promise<string> {
  const record = isUuid(generationId) ? await ports.generations.read(generationId.toLowerCase(), ports.call) : null;
  const isOwn = record?.accountId === person.accountId && record.kind !== 'void';
  if (!isOwn || !(await isUsable(ports, person, record.appId))) throw new ServiceError('TASK_NOT_FOUND');
  return record.appId;
}
