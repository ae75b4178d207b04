import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../../apps/config/load-config.js';
import { migrateStores } from '../../../apps/stores/migrate-stores.js';
import { openProgram, type Program } from '../../../apps/wiring/open-program.js';
import { CliProcess } from '../../harness/cli-run.js';
import { freePort } from '../../servers/free-port.js';
import { ServerProcess } from '../../servers/server-process.js';
import { toxiproxyServer } from '../../servers/servers.js';
import { Receivers } from '../receivers/receivers.js';
import { PROCESSES, type ProcessName, type RestName, type StoreName } from '../rounds/schedule.js';
import { vendorCatalog, vendorSections, WORKFLOWS } from '../vendors/vendor-models.js';
import { Vendors } from '../vendors/vendors.js';
import { changed } from './changed.js';
import { type ClusterShape, type DatabaseUnderFaults, MongoUnderFaults, PostgresUnderFaults } from './databases.js';
import { type Build, type FleetOptions, FleetProcess, PROGRAM } from './fleet-process.js';
import { catalogText, configText, providersText, SANDBOX_BEFORE } from './settings.js';
import { type Link, Toxiproxy } from './toxiproxy.js';
import { TroubledS3 } from './troubled-s3.js';
import { fullCatalog } from '../../harness/full-catalog.js';

/** The links and proxies between one process and the stores. */
export interface Ways {
  /** One link to each server of the database. */
  readonly database: readonly Link[];
  readonly s3: readonly Link[];
  /** The proxy behind the link that makes the store appear to be in trouble. */
  readonly trouble: TroubledS3;
}

export interface FleetMember {
  readonly process: FleetProcess;
  readonly ways: Ways;
}

/**
 * The routes by which clients are notified: the receivers of their webhooks, and links to the event streams of REST
 * processes.
 */
export interface Watched {
  readonly receivers: Receivers;
  readonly streams: Readonly<Record<RestName, Link>>;
}

export interface InstallationOptions {
  readonly objects: 'minio' | 'versitygw';
  /** The PostgreSQL servers of its database; one MongoDB server if absent. */
  readonly cluster?: ClusterShape;
  /** The folder in which logs are kept to explain a failed run. */
  readonly logs: string;
  /** Generations of a model that each worker runs at once; when absent, enough for a fault to hit every state. */
  readonly concurrency?: number;
  /** The previous release's program: some of the processes run it, as in the middle of an upgrade. */
  readonly before?: string;
  /** Whether there are vendors with models of their own, which the previous release does not support. */
  readonly hasVendors?: boolean;
  /** Distinguishes this run from others that share a toxiproxy. */
  readonly name: string;
}

/**
 * The builds that each process runs during an upgrade: this build, the previous release, or the other one at each
 * restart. So each build always has a worker, and processes are replaced in both directions.
 */
const BUILDS: Readonly<Record<ProcessName, (build: Build, before: Build) => FleetOptions['builds']>> = {
  'rest-1': (build) => [build],
  'rest-2': (build, before) => [before, build],
  'worker-1': (build) => [build],
  'worker-2': (_, before) => [before],
  'worker-3': (build, before) => [before, build],
};

/**
 * Two REST processes and three workers of the compiled program on a database and an S3 server of their own, with
 * separate links from each process to each server. Everything ends with the test process, however that ends.
 */
export class Installation {
  readonly members = new Map<ProcessName, FleetMember>();
  readonly urls: Readonly<Record<RestName, string>>;

  /** Whether some of its processes run the previous release. */
  hasOlderProcesses = false;

  private constructor(
    private readonly database: MongoUnderFaults | PostgresUnderFaults,
    readonly s3: ServerProcess,
    /** The operator's own access to the stores, without faults. */
    readonly operator: Program,
    readonly bucket: string,
    /** Secrets that no log may contain: the installation's and the object store's. */
    readonly secrets: readonly { readonly name: string; readonly text: string }[],
    ports: Readonly<Record<RestName, number>>,
    readonly vendors: Vendors | undefined,
    private readonly watched: Watched | undefined,
  ) {
    this.urls = { 'rest-1': `http://127.0.0.1:${ports['rest-1']}`, 'rest-2': `http://127.0.0.1:${ports['rest-2']}` };
  }

  /**
   * Opens everything except the processes of the program. Throws `ServerAbsent` when a server's program is not
   * installed on this machine.
   */
  static async open(options: InstallationOptions): Promise<Installation> {
    const toxiproxy = new Toxiproxy((await toxiproxyServer()).url);
    const [database, s3] = await Promise.all([
      options.cluster === undefined ? MongoUnderFaults.open() : PostgresUnderFaults.open(options.cluster),
      ServerProcess.start(options.objects),
    ]);
    const folder = options.logs;
    mkdirSync(folder, { recursive: true });
    // While the folder is empty, its configuration is the default one.
    const shipped = fullCatalog(await readFile((await loadConfig({ folder, environment: {} })).catalog, 'utf8'));
    const secret = randomBytes(32).toString('hex');
    const bucket = 'darkroom-faults';
    const configFile = join(folder, 'darkroom.yaml');
    await writeFile(join(folder, 'secret'), `${secret}\n`, { mode: 0o600 });
    const places = { database, bucket, s3: s3.s3 };
    const vendors = options.hasVendors === true ? await Vendors.open(options.name, toxiproxy) : undefined;
    const providers = vendors && providersText(vendorSections(vendors.places));
    await writeFile(configFile, configText(places, providers));
    for (const { file, content } of WORKFLOWS) await writeFile(join(folder, file), JSON.stringify(content));
    const configFileBefore = join(folder, 'darkroom-before.yaml');
    // The build before that knows PostgreSQL has today's format.
    const sandboxBefore = options.cluster === undefined ? SANDBOX_BEFORE : undefined;
    await writeFile(configFileBefore, configText(places, sandboxBefore));
    const models = vendors === undefined ? shipped : shipped + vendorCatalog();
    await writeFile(join(folder, 'catalog.yaml'), catalogText(models, options.concurrency));

    const config = await loadConfig({ file: configFile, folder, environment: {} });
    // Processes of the previous release refuse a database that this build has created.
    if (options.before !== undefined) await migrateBy(options.before, folder, configFileBefore);
    await migrateStores(config);
    const operator = await openProgram(config, 'tool');
    const secrets = [
      { name: "the installation's secret", text: secret },
      { name: "the object store's secret key", text: s3.s3.secretKey },
      ...(vendors?.secrets ?? []),
    ];
    const ports = { 'rest-1': await freePort(), 'rest-2': await freePort() };
    const watched = options.hasVendors === true ? await openWatched(options.name, toxiproxy, ports) : undefined;
    const installation = new Installation(database, s3, operator, bucket, secrets, ports, vendors, watched);
    installation.hasOlderProcesses = options.before !== undefined;
    const build = { program: PROGRAM, configFile };
    const before = options.before === undefined ? build : { program: options.before, configFile: configFileBefore };
    for (const name of PROCESSES)
      installation.members.set(name, await installation.member(name, toxiproxy, options, BUILDS[name](build, before)));
    return installation;
  }

  process(name: ProcessName): FleetProcess {
    return this.memberNamed(name).process;
  }

  ways(name: ProcessName): Ways {
    return this.memberNamed(name).ways;
  }

  /** Throws when there are none. */
  get vendorsInUse(): Vendors {
    if (this.vendors === undefined) throw new Error('There are no vendors here.');
    return this.vendors;
  }

  /** Receivers of webhooks, and links to event streams. Throws when there are none. */
  get watchedInUse(): Watched {
    if (this.watched === undefined) throw new Error('Nobody is told of anything here.');
    return this.watched;
  }

  /** The server of a store. Throws if the database has several servers. */
  server(store: StoreName): ServerProcess {
    if (store === 's3') return this.s3;
    if (this.database instanceof MongoUnderFaults) return this.database.server;
    throw new Error('The database has several servers here.');
  }

  /** The PostgreSQL database. Throws if the database is a single server. */
  get clusterInUse(): PostgresUnderFaults {
    if (this.database instanceof PostgresUnderFaults) return this.database;
    throw new Error('The database is one server here.');
  }

  findDatabaseAtRest(): ReturnType<DatabaseUnderFaults['findAtRest']> {
    return this.database.findAtRest();
  }

  get isWatched(): boolean {
    return this.watched !== undefined;
  }

  get processes(): FleetProcess[] {
    return [...this.members.values()].map(({ process }) => process);
  }

  /** Ends everything, frozen or not. */
  async close(): Promise<void> {
    for (const process of this.processes) await process.close();
    await this.operator.close();
    for (const { ways } of this.members.values()) {
      await Promise.all([...ways.database, ...ways.s3].map((link) => link.remove()));
      await ways.trouble.close();
    }
    await this.vendors?.close();
    await this.watched?.receivers.close();
    for (const link of Object.values(this.watched?.streams ?? {})) await link.remove();
    await Promise.all([this.database.close(), this.s3.stop()]);
  }

  private memberNamed(name: ProcessName): FleetMember {
    const member = this.members.get(name);
    if (!member) throw new Error(`There is no process ${name}.`);
    return member;
  }

  private async member(
    name: ProcessName,
    toxiproxy: Toxiproxy,
    { name: run, logs }: InstallationOptions,
    builds: FleetOptions['builds'],
  ): Promise<FleetMember> {
    const trouble = await TroubledS3.open(this.s3.port);
    const toDatabase = await Promise.all(
      this.database.ports.map((port, index) => toxiproxy.link(`${run}-${name}-database-${index}`, port)),
    );
    const s3 = await toxiproxy.link(`${run}-${name}-s3`, trouble.port);
    const ways = { database: toDatabase, s3: [s3], trouble };
    const isRest = name === 'rest-1' || name === 'rest-2';
    const environment = {
      ...this.database.environment(toDatabase.map(({ port }) => port)),
      DARKROOM_MINIO_ENDPOINT: `http://127.0.0.1:${s3.port}`,
      ...changed(process.env['FAULT_MUTANT']),
      ...(this.watched === undefined ? {} : { DARKROOM_WEBHOOKS_ALLOWED_HOSTS: this.watched.receivers.allowedHosts }),
      ...(isRest ? { DARKROOM_REST_PORT: new URL(this.urls[name]).port } : {}),
    };
    const member = new FleetProcess({
      name,
      role: isRest ? 'rest' : 'worker',
      folder: logs,
      builds,
      environment,
      logFile: join(logs, `${name}.log`),
    });
    return { process: member, ways };
  }
}

async function openWatched(
  name: string,
  toxiproxy: Toxiproxy,
  ports: Readonly<Record<RestName, number>>,
): Promise<Watched> {
  const link = (rest: RestName) => toxiproxy.link(`${name}-${rest}-streams`, ports[rest]);
  return {
    receivers: await Receivers.open(name, toxiproxy),
    streams: { 'rest-1': await link('rest-1'), 'rest-2': await link('rest-2') },
  };
}

async function migrateBy(program: string, folder: string, configFile: string): Promise<void> {
  const environment = { DARKROOM_CONFIG: configFile };
  const { code, stderr } = await new CliProcess(folder, ['migrate'], { environment, program }).ended;
  if (code !== 0) throw new Error(`The release before made no database: ${stderr}`);
}
