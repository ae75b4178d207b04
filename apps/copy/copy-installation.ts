import { createHash } from 'node:crypto';
import type { ComparedFacts, CopyTarget, OpenDatabase } from '../../adapters/driver.js';
import {
  COPIED_TABLE_NAMES,
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  type CopiedTableName,
} from '../../adapters/copied-tables.js';
import type { ProcessLease } from '../../core/idempotency/fingerprint.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import { verifyCredits, type Verification } from '../../core/credits/verify.js';
import type { Config } from '../config/config.js';
import { inspectDatabase, objectsOpeningOf, openingOf, placeOf, QUIETLY } from '../stores/open-database.js';
import { type CopiedObjects, ObjectCopy } from './copy-objects.js';
import { type DataFolderLock, isDataFolderLocked, lockDataFolder } from '../wiring/built-in-drivers.js';
import { readSecrets } from '../wiring/secrets.js';

/** Thrown when an installation cannot be copied; the message is one sentence fit for the operator. */
export class CopyRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CopyRefused';
  }
}

export interface Copied {
  /** The rows of each table. */
  readonly rows: Readonly<Record<CopiedTableName, number>>;
  readonly verified: Verification;
  /** Absent where the target uses the objects of the source, or those of a folder that was copied with all files. */
  readonly objects?: CopiedObjects;
}

/**
 * Copies the database of a stopped installation into the empty one of another configuration, and compares the two: the rows of
 * every table, and the ledgers of the copy with its accounts and generations. Objects are copied from one driver's store to
 * another's. Until all agree, no process opens the target; when it is interrupted, the next copy starts over. The source is only read. Throws `CopyRefused`, one sentence of a
 * driver, and `StoreUnavailable`.
 */
export async function copyInstallation(
  source: Config,
  target: Config,
  tell: (line: string) => void = () => undefined,
): Promise<Copied> {
  const { driver } = target.stores.database;
  if (driver.openCopyTarget === undefined)
    throw new CopyRefused(`An installation cannot be copied into the database of the driver ${driver.name}.`);
  const lock = await lockedSource(source);
  const from = await inspectDatabase(source).catch((error: unknown) => {
    lock?.release();
    throw error;
  });
  try {
    const facts = await sharedFacts(source, target, from);
    await refuseInUse(source, from);
    const to = await driver.openCopyTarget(openingOf(target, target.stores.database, QUIETLY));
    try {
      const { secret, objects } = facts;
      refuseOther(target, await to.installation.check({ secret, ...(objects === undefined ? {} : { objects }) }));
      return await copyInto(to, { from, source, target, facts, tell });
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
    lock?.release();
  }
}

interface Copying {
  readonly from: OpenDatabase;
  readonly source: Config;
  readonly target: Config;
  readonly facts: Facts;
  readonly tell: (line: string) => void;
}

async function copyInto(to: CopyTarget, { from, source, target, facts, tell }: Copying): Promise<Copied> {
  const read = readerOf(source, from);
  await to.begin();
  const sums = new Map<CopiedTableName, TableSum>();
  for (const table of COPIED_TABLE_NAMES) {
    const sum = new TableSum();
    for await (const rows of read(table)) {
      await to.write(table, rows);
      rows.forEach((row) => sum.add(row));
    }
    sums.set(table, sum);
    if (sum.rows > 0) tell(`Copied ${sum.rows} ${sum.rows === 1 ? 'row' : 'rows'} of ${table}.`);
  }
  const objects = await copyObjects(source, target, read);
  for (const [table, sum] of sums) {
    if (!sum.equals(await sumOf(to.rows(table))))
      throw new CopyRefused(`The copy of ${table} differs from what was read; run darkroom copy again.`);
    if (!sum.equals(await sumOf(read(table))))
      throw new CopyRefused(
        `${placeOf(source).text} was written to during the copy (${table}); stop all of its processes, and run darkroom copy again.`,
      );
  }
  const { clock } = QUIETLY;
  const verified = await verifyCredits({ ...to.stores, clock, settings: target.settings });
  // Findings are the source's own, as every row is the same: they do not keep the copy from being used.
  const { secret, objects: identity } = facts;
  if (identity !== undefined) refuseOther(target, await to.installation.claim({ secret, objects: identity }));
  await to.finish();
  const rows = Object.fromEntries([...sums].map(([table, sum]) => [table, sum.rows])) as Copied['rows'];
  return { rows, verified, ...(objects === undefined ? {} : { objects }) };
}

/** Names of files are digests of their keys, so that only this program can put them elsewhere. */
async function copyObjects(source: Config, target: Config, read: RowsOf): Promise<CopiedObjects | undefined> {
  if (source.stores.objects.driver === target.stores.objects.driver) return undefined;
  const copy = await ObjectCopy.open(source, target);
  try {
    for (const table of ['uploads', 'generations'] as const)
      for await (const rows of read(table)) for (const [, text] of rows) await copy.copyOf(table, text as string);
    return copy.copied;
  } finally {
    await copy.close();
  }
}

type RowsOf = (table: CopiedTableName) => AsyncIterable<readonly CopiedRow[]>;

function readerOf(source: Config, from: OpenDatabase): RowsOf {
  if (from.rows === undefined)
    throw new CopyRefused(
      `An installation cannot be copied from the database of the driver ${source.stores.database.driver.name}.`,
    );
  return (table) => (from.rows as RowsOf)(table);
}

/** The number of rows, and the sum of their digests, which does not depend on their order. */
class TableSum {
  rows = 0;
  private sum = 0n;

  add(row: CopiedRow): void {
    this.rows += 1;
    const digest = createHash('sha256').update(JSON.stringify(row)).digest('hex');
    this.sum = BigInt.asUintN(256, this.sum + BigInt(`0x${digest}`));
  }

  equals(other: TableSum): boolean {
    return this.rows === other.rows && this.sum === other.sum;
  }
}

async function sumOf(parts: AsyncIterable<readonly CopiedRow[]>): Promise<TableSum> {
  const sum = new TableSum();
  for await (const rows of parts) rows.forEach((row) => sum.add(row));
  return sum;
}

/** Keeps servers out of the data folder, where the installation has one. Throws one sentence beside a server. */
async function lockedSource({ stores, dataFolder }: Config): Promise<DataFolderLock | undefined> {
  const { database, objects } = stores;
  if (database.driver.isMade?.({ options: database.options, dataFolder }) === false)
    throw new CopyRefused(`There is no Darkroom data in ${dataFolder}; name the configuration of the installation.`);
  if (database.driver.isInDataFolder) return lockDataFolder(dataFolder);
  if (objects.driver.isInDataFolder && (await isDataFolderLocked(dataFolder)))
    throw new CopyRefused(`A server is using ${dataFolder}; stop it first.`);
  return undefined;
}

/** How long a process that works may show no sign of it, in milliseconds. */
const SILENT_MS = 60_000;

/**
 * Refuses a shared database in which a process has shown a sign of life in the last minute: the lease of a process in which
 * requests wait, a worker's share of a provider, or the index of searches, which a worker extends. A process without work
 * may show none; what it then writes is found by the comparison after the copy.
 */
async function refuseInUse(source: Config, from: OpenDatabase): Promise<void> {
  if (source.stores.database.driver.isInDataFolder) return;
  const read = readerOf(source, from);
  const since = QUIETLY.clock.now() - SILENT_MS;
  const seen: number[] = [];
  for await (const { renewedAt } of recordsOf<ProcessLease>(read, 'boot_leases')) seen.push(renewedAt);
  for await (const { text } of recordsOf<{ readonly text: string }>(read, 'provider_uses')) {
    const { shares, idle = [] } = JSON.parse(text) as ProviderUse;
    seen.push(...shares.map((share) => share.renewedAt), ...idle.map(({ seenAt }) => seenAt));
  }
  const progress = await from.stores.generationSearch.readProgress();
  if (progress !== null) seen.push(progress.heldUntil - INDEXING_MS);
  if (seen.some((at) => at > since))
    throw new CopyRefused(
      `A process has used ${placeOf(source).name} in the last minute; stop all processes, wait for a minute, and run darkroom copy again.`,
    );
}

/** How long a worker holds the index of searches from when it last extended it, in milliseconds. */
const INDEXING_MS = 60_000;

async function* recordsOf<R>(read: RowsOf, table: 'boot_leases' | 'provider_uses'): AsyncGenerator<R> {
  const mapping = COPIED_TABLES[table] as unknown as CopiedTable<R & object>;
  for await (const rows of read(table))
    for (const row of rows)
      yield mapping.recordOf(Object.fromEntries(mapping.columns.map(({ name }, index) => [name, row[index]])));
}

interface Facts {
  readonly secret: string;
  /** The identity of objects outside the data folder. */
  readonly objects?: string;
}

/** The facts that both installations must share. Throws one sentence for another secret, or other objects. */
async function sharedFacts(source: Config, target: Config, from: OpenDatabase): Promise<Facts> {
  const { fingerprint: secret } = readSecrets(source.secretFile, { inUse: true, isShared: true });
  if ((await from.installation.check({ secret })) !== 'same')
    throw new CopyRefused(
      `The secret in ${source.secretFile} is not the one that ${placeOf(source).name} was first used with.`,
    );
  if (readSecrets(target.secretFile, { inUse: true, isShared: true }).fingerprint !== secret)
    throw new CopyRefused(
      `${target.secretFile} has another secret than ${source.secretFile}, and no API key would be valid; copy the file.`,
    );
  const { driver } = target.stores.objects;
  if (driver.isInDataFolder) return { secret };
  const { identity: objects, unmade } = await driver.inspect(objectsOpeningOf(target, QUIETLY));
  if (objects === undefined) throw new CopyRefused(`${unmade}; run darkroom migrate with the new configuration first.`);
  const isSameDriver = source.stores.objects.driver === driver;
  if (isSameDriver && (await from.installation.check({ objects })) !== 'same')
    throw new CopyRefused(
      `The objects of the new configuration are not those that ${placeOf(source).name} was first used with; name the same bucket, or a whole copy of it.`,
    );
  return { secret, objects };
}

function refuseOther(target: Config, compared: ComparedFacts): void {
  if (compared === 'same') return;
  throw new CopyRefused(
    `Database ${placeOf(target).name} was first used with ${compared.other === 'secret' ? 'another secret' : 'other objects'}; name an empty database in ${placeOf(target).key}.`,
  );
}
