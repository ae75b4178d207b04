import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectCount } from '../../adapters/driver-backup.js';
import { BackupRefused } from './backup-refused.js';

/** Grows when an older release could not restore what a newer one writes. */
const FORMAT = 1;

/** The contents of a backup, apart from the database and the objects, whose names their drivers know. */
export const FILES = { manifest: 'backup.json', secret: 'secret' } as const;

/** What a backup says of itself. It is written last: a folder without it is no backup. */
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

/** Throws `BackupRefused` for a folder that is no finished backup, or one of a newer release. */
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
    throw new BackupRefused(
      `${folder} is not a complete backup: its ${FILES.manifest} is missing or cannot be read.`,
      error,
    );
  }
}
