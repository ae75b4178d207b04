import {
  ObjectsMissing,
  type ComparedFacts,
  type DatabaseStores,
  type Installation,
  type InstallationFacts,
} from '../../adapters/driver.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { Config } from '../config/config.js';
import { placeOf } from './open-database.js';

/** The fingerprint of no secret, and of no objects: no database stores it. */
export const NOBODYS = '';

export interface FactsAtHand {
  readonly secret: string;
  readonly objects: () => Promise<string>;
}

/** Thrown when a database was first used with something else; the message is one sentence fit for the operator. */
class OtherInstallation extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OtherInstallation';
  }
}

/**
 * Refuses another secret or other objects than the database was first used with: keys would be invalid and results
 * missing, here and not in other processes, or only since the configuration was changed. A tool continues while the
 * object store is unavailable. Throws `OtherInstallation` and `StoreUnavailable`.
 */
export async function joinInstallation(
  config: Config,
  installation: Installation,
  role: 'server' | 'tool',
  { secret, objects }: FactsAtHand,
): Promise<void> {
  const known = await objects().catch((error: unknown) => whileAway(error, role));
  refuseOther(
    config,
    await (known === undefined ? installation.check({ secret }) : installation.claim({ secret, objects: known })),
  );
}

/** The same for callers that must not write: facts that the database does not store yet count as the same. */
export async function checkInstallation(
  config: Config,
  installation: Installation,
  facts: Partial<InstallationFacts>,
): Promise<void> {
  refuseOther(config, await installation.check(facts));
}

/**
 * Whether a secret was in use here before, so that a new one would be useless. The secret is always created before the
 * first account; and a data folder that stores a fingerprint of a secret had one, even without accounts. Over a shared
 * database without accounts the message is instead that all processes need the same secret, as it is more likely not
 * distributed than lost.
 */
export async function hadSecret(
  { stores }: Config,
  {
    stores: { accounts },
    installation,
  }: { readonly stores: Pick<DatabaseStores, 'accounts'>; readonly installation: Installation },
): Promise<boolean> {
  if ((await accounts.list({ limit: 1 })).items.length > 0) return true;
  return stores.database.driver.isInDataFolder === true && (await installation.check({ secret: NOBODYS })) !== 'same';
}

/**
 * Whether there may be other processes, none of which may create what all need. A process in the role `all` may be the
 * only one.
 */
export function isOneOfSeveral({ stores, role }: Config, openedAs: 'server' | 'tool'): boolean {
  return stores.database.driver.unshared === undefined && (openedAs === 'tool' || role !== 'all');
}

/**
 * Explains a failure to find the objects: a missing bucket must not be created for a database that was in use with one,
 * as the results it knows would not be in it. Throws `OtherInstallation`, or the original failure.
 */
export async function refuseObjects(config: Config, installation: Installation, failure: unknown): Promise<never> {
  if (!(failure instanceof ObjectsMissing) || !(await isInUse(installation))) throw failure;
  const { kind, name, key } = failure.place;
  throw new OtherInstallation(
    `Database ${placeOf(config).name} was first used with another ${kind}, and there is no ${name}: correct ${key}, or restore that ${kind} from a backup.`,
  );
}

/** Whether a database remembers the objects it was first used with. Throws `StoreUnavailable`. */
export async function isInUse(installation: Installation): Promise<boolean> {
  return (await installation.check({ objects: NOBODYS })) !== 'same';
}

function whileAway(error: unknown, role: 'server' | 'tool'): undefined {
  if (role === 'server' || !(error instanceof StoreUnavailable)) throw error;
}

function refuseOther(config: Config, compared: ComparedFacts): void {
  if (compared === 'same') return;
  const { name: place, key } = placeOf(config);
  throw new OtherInstallation(
    compared.other === 'secret'
      ? `The secret in ${config.secretFile} is not the one that database ${place} was first used with; give every process the same secret_file.`
      : `Database ${place} was first used with other objects than the ones configured here; name the same bucket everywhere, restore the objects of a database with it, or name another ${key}.`,
  );
}
