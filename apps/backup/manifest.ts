import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseBackup, ObjectCount, ObjectsBackup } from '../../adapters/driver-backup.js';
import type { Config } from '../config/config.js';

/** Thrown when a backup cannot be made or restored; the message is one sentence fit for the operator. */
export class BackupRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'BackupRefused';
  }
}

/** Grows when an older release could not restore what a newer one writes. */
const FORMAT = 1;

/** The contents of a backup, apart from the database and the objects, whose names their drivers know. */
export const FILES = { manifest: 'backup.json', secret: 'secret' } as const;

/** The description of a backup. It is written last: a folder without it is not a backup. */
export interface Manifest {
  readonly format: number;
  /** The release that made it. */
  readonly release: string;
  readonly createdAt: string;
  readonly databaseSha256: string;
  /** Absent if the objects are in a bucket, which has separate backups. */
  readonly objects?: ObjectCount;
}

const PACKAGE = new URL('../../../package.json', import.meta.url);

export async function newManifest(
  database: string,
  createdAt: string,
  objects: ObjectCount | undefined,
): Promise<Manifest> {
  const { version: release } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  const databaseSha256 = await sha256Of(database);
  return { format: FORMAT, release, createdAt, databaseSha256, ...(objects === undefined ? {} : { objects }) };
}

/** Throws `BackupRefused` for a folder that is not a finished backup, or one of a newer release. */
export function readManifest(folder: string): Manifest {
  const manifest = parse(folder);
  if (typeof manifest.format !== 'number' || typeof manifest.databaseSha256 !== 'string')
    throw new BackupRefused(`${join(folder, FILES.manifest)} is damaged.`);
  if (manifest.format > FORMAT)
    throw new BackupRefused(
      `The backup ${folder} was made by a newer release (${manifest.release}); restore it with that one, or a later one.`,
    );
  return manifest;
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

function parse(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, FILES.manifest), 'utf8')) as Manifest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES')
      throw new BackupRefused(`${folder} cannot be read by this user (EACCES); change the owner of its files.`, error);
    throw new BackupRefused(
      `${folder} is not a complete backup: its ${FILES.manifest} is missing or cannot be read.`,
      error,
    );
  }
}

/** Creates a file, readable by its owner only, and on the disk on return. */
export function writePrivately(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Puts a file that was written, or the names in a folder, on the disk. */
export function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The parts of an installation that a backup has. */
export interface BackedUpStores {
  readonly database: DatabaseBackup;
  /** Absent if they are stored elsewhere, with separate backups. */
  readonly objects?: ObjectsBackup;
}

/**
 * Throws `BackupRefused` for a database with its own tools, which can copy a cluster as of one moment, and for objects
 * in the data folder that cannot be copied: a backup without them would look complete.
 */
export function backedUpStores({ stores }: Config, what: string): BackedUpStores {
  const { backup, backupTools = 'its own tools' } = stores.database.driver;
  if (backup === undefined)
    throw new BackupRefused(
      `Darkroom can ${what} only a data folder; for the database use ${backupTools}, as docs/operating/backup.md describes.`,
    );
  const { name, isInDataFolder, backup: objects } = stores.objects.driver;
  if (isInDataFolder && !objects)
    throw new BackupRefused(
      `Darkroom cannot ${what} the objects in the data folder, because the driver ${name} has no backup.`,
    );
  return { database: backup, ...(objects ? { objects } : {}) };
}
