import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';

/** What stays the same from one run of the developer's servers to the next. */
export interface DeveloperSettings {
  readonly mongoPort?: number;
  readonly minioPort?: number;
  readonly restPort?: number;
  readonly accessKey: string;
  readonly secretKey: string;
}

export const BUCKET = 'darkroom';
export const DATABASE = 'darkroom';
const PRIVATE = 0o600;

/** Reads what the last run left in the folder, or makes it up. */
export function readSettings(folder: string): DeveloperSettings {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = settingsFile(folder);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as DeveloperSettings;
  return { accessKey: 'darkroom', secretKey: randomBytes(20).toString('hex') };
}

export function writeSettings(folder: string, settings: DeveloperSettings): void {
  writeWhole(settingsFile(folder), `${JSON.stringify(settings, null, 2)}\n`);
}

export interface Places {
  readonly mongoUrl: string;
  readonly minioUrl: string;
  readonly region: string;
  readonly restPort: number;
}

/** Writes the configuration that runs Darkroom over the servers, and the secret it names; answers its path. */
export function writeConfiguration(
  folder: string,
  { accessKey, secretKey }: DeveloperSettings,
  { mongoUrl, minioUrl, region, restPort }: Places,
): string {
  const secretFile = join(folder, 'secret');
  if (!existsSync(secretFile)) writeWhole(secretFile, `${randomBytes(32).toString('hex')}\n`);
  const configuration = {
    data_folder: join(folder, 'data'),
    secret_file: secretFile,
    stores: { database: 'mongo', objects: 'minio', wake_ups: 'agenda' },
    mongo: { url: mongoUrl, database: DATABASE },
    minio: {
      endpoint: minioUrl,
      public_endpoint: minioUrl,
      region,
      bucket: BUCKET,
      access_key: accessKey,
      secret_key: secretKey,
    },
    rest: { host: '127.0.0.1', port: restPort, public_url: `http://127.0.0.1:${restPort}` },
  };
  const path = join(folder, 'darkroom.yaml');
  writeWhole(
    path,
    `# Written by \`npm run servers\` at each of its starts: what is changed here is lost.\n${stringify(configuration)}`,
  );
  return path;
}

/** A run that is cut leaves the old file or the new one. */
function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.partial`, text, { mode: PRIVATE });
  renameSync(`${path}.partial`, path);
}

function settingsFile(folder: string): string {
  return join(folder, 'settings.json');
}
