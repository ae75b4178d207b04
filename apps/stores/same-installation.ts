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

/** The fingerprint of no secret, and of no objects. */
const NOBODYS = '';

export interface FactsAtHand {
  readonly secret: string;
  readonly objects: () => Promise<string>;
}

/** Thrown when a database was first used with something else; the message is one sentence fit for the operator. */
export class OtherInstallation extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OtherInstallation';
  }
}

/**
 * Refuses to go on with another secret or other objects than the database was first used with: keys would be invalid
 * and results missing, here and not in the process next door, or not before the configuration was changed. A tool goes
 * on while the object store is away. Throws `OtherInstallation` and `StoreUnavailable`.
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

/** The same for whoever is to write nothing: what the database does not remember yet is as good as the same. */
export async function checkInstallation(
  config: Config,
  installation: Installation,
  facts: Partial<InstallationFacts>,
): Promise<void> {
  refuseOther(config, await installation.check(facts));
}

/**
 * Whether a secret was in use here before, so that a new one would be of no use. Whoever makes the first account has
 * made the secret before; and what a data folder remembers of its secret it had, before there was any account. Over a
 * shared database a process without accounts is told instead that all processes need the same one, which it more likely
 * lacks than lost.
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
 * Whether there may be processes beside this one, of which none can make what all need. One that does everything may be
 * the only one.
 */
export function isOneOfSeveral({ stores, role }: Config, openedAs: 'server' | 'tool'): boolean {
  return stores.database.driver.unshared === undefined && (openedAs === 'tool' || role !== 'all');
}

/**
 * Explains a failure to find the objects: a bucket that is not there is not to be made for a database that was in use
 * with one, as the results it knows would not be in it. Throws `OtherInstallation`, or the failure as it is.
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
      : `Database ${place} was first used with other objects than the ones configured here; name the same bucket everywhere, or another ${key}.`,
  );
}
