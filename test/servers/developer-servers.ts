import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { BUCKET, DATABASE, readSettings, writeConfiguration, writeSettings } from './developer-settings.js';
import type { FoundProgram } from './find-program.js';
import { freePort } from './free-port.js';
import { MachineLock } from './machine-lock.js';
import { ServerProcess } from './server-process.js';

/** The servers of a checkout are running already. */
export class AlreadyRunning extends Error {}

/** What a developer's Darkroom runs over: servers whose data stays in a folder, on the ports they had last time. */
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

  /** For scripts. */
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
