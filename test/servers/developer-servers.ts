import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { FoundProgram } from './find-program.js';
import { freePort } from './free-port.js';
import { MachineLock } from './machine-lock.js';
import { ServerProcess } from './server-process.js';

/** The settings that stay the same from one run of the developer's servers to the next. */
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

/** The servers of a checkout are running already. */
export class AlreadyRunning extends Error {}

/** The servers behind a developer's Darkroom: their data stays in a folder, and they reuse their previous ports. */
export class DeveloperServers {
  private constructor(
    private readonly lock: MachineLock,
    readonly mongo: ServerProcess,
    readonly minio: ServerProcess,
    readonly configFile: string,
  ) {}

  /** Starts them, and writes `darkroom.yaml` into the folder. Throws AlreadyRunning when they are up. */
  static async start(folder: string, mongoProgram: FoundProgram): Promise<DeveloperServers> {
    const settings = readSettings(folder);
    const lock = MachineLock.tryTake(join(folder, 'lock'));
    if (!lock)
      throw new AlreadyRunning(`The servers of ${folder} are running already; there is one of each for a checkout.`);
    // The two kinds of MongoDB cannot read each other's data.
    const mongo = await startIn(join(folder, mongoProgram.isMongod ? 'mongod' : 'secantus'), (place) =>
      ServerProcess.start('mongo-replica-set', { ...place, port: settings.mongoPort }),
    );
    const minio = await startIn(join(folder, 'minio'), (place) =>
      ServerProcess.start('minio', {
        ...place,
        port: settings.minioPort,
        accessKey: settings.accessKey,
        secretKey: settings.secretKey,
      }),
    );
    const restPort = settings.restPort ?? (await freePort());
    writeSettings(folder, { ...settings, mongoPort: mongo.port, minioPort: minio.port, restPort });
    const places = { mongoUrl: mongo.url, minioUrl: minio.url, region: minio.s3.region, restPort };
    return new DeveloperServers(lock, mongo, minio, writeConfiguration(folder, settings, places));
  }

  /** The servers' addresses, for scripts. */
  get addresses(): object {
    const { endpoint, region, accessKey, secretKey } = this.minio.s3;
    return {
      mongo: { url: this.mongo.url, database: DATABASE },
      minio: { endpoint, region, bucket: BUCKET, access_key: accessKey, secret_key: secretKey },
      config: this.configFile,
    };
  }

  /** Resolves with a sentence when one of them ends by itself. */
  untilOneEnds(): Promise<string> {
    return Promise.race(
      [this.mongo, this.minio].map(async (server) => {
        const how = await server.untilEnded();
        return `${server.kind} ended by itself with ${how}: ${server.log}`;
      }),
    );
  }

  async stop(): Promise<void> {
    await Promise.all([this.mongo.stop(), this.minio.stop()]);
    this.lock.release();
  }
}

function startIn(
  folder: string,
  start: (place: { readonly folder: string }) => Promise<ServerProcess>,
): Promise<ServerProcess> {
  mkdirSync(folder, { recursive: true });
  return start({ folder });
}
