import 'reflect-metadata';
import { join } from 'node:path';
import { Container } from 'inversify';
import { loadCatalog } from '../adapters/catalog-file/file-catalog.js';
import { FileObjectStore } from '../adapters/files/file-object-store.js';
import { filesModule } from '../adapters/files/module.js';
import { mediaModule } from '../adapters/media/module.js';
import { resolve } from '../adapters/provide.js';
import { SandboxProvider } from '../adapters/providers/sandbox/sandbox-provider.js';
import { sqliteModule } from '../adapters/sqlite/module.js';
import { openSqlite, type SqliteStores } from '../adapters/sqlite/open-sqlite.js';
import { systemModule } from '../adapters/system/module.js';
import { SystemClock } from '../adapters/system/system-clock.js';
import { timersModule } from '../adapters/timers/module.js';
import { createContext, type Context } from '../core/context.js';
import type { Log } from '../core/log.js';
import type { Catalog } from '../core/ports/catalog.js';
import type { Provider, Providers } from '../core/ports/provider.js';
import { TOKENS, type Ports } from '../core/ports/tokens.js';
import { catalogTools } from './catalog-tools.js';
import type { Config } from './config/config.js';
import { openSecrets } from './secrets.js';

export interface Program {
  readonly context: Context;
  readonly stores: SqliteStores;
  readonly objects: FileObjectStore;
  close(): Promise<void>;
}

export interface ProgramOptions {
  readonly log?: Log;
  /** Instead of the configured file, for work that a faulty catalog must not keep anybody from. */
  readonly catalog?: Catalog;
  /** Where clients reach the REST process, asked for whenever an address is signed; from the configuration when absent. */
  readonly publicUrl?: () => string;
}

/**
 * Reads the catalog, opens the data folder and puts the program together over both. A `server` has the folder to itself;
 * a `tool` works beside it. Throws one sentence, or one a line, when the catalog or the folder cannot be used.
 */
export async function openProgram(config: Config, role: 'server' | 'tool', options: ProgramOptions = {}): Promise<Program> {
  const catalog = options.catalog ?? await loadCatalog(config.catalog, catalogTools());
  const stores = await openSqlite({ folder: config.dataFolder, role });
  try {
    const clock = new SystemClock();
    // Whoever makes the first account has made the secret before.
    const secrets = openSecrets(config.dataFolder, { inUse: (await stores.accounts.list({ limit: 1 })).items.length > 0 });
    const objects = await FileObjectStore.open({
      folder: join(config.dataFolder, 'objects'),
      publicBaseUrl: options.publicUrl ?? (() => configuredUrl(config)),
      secret: secrets.objects,
      clock,
    });
    const sandbox = new SandboxProvider({ clock, threads: config.sandbox.threads });
    const connected = new Map<string, Provider>([['sandbox', sandbox]]);
    const container = new Container();
    container.load(systemModule({ secret: secrets.credentials }), mediaModule, sqliteModule(stores), timersModule(stores.wakeUpTable), filesModule(objects));
    container.bind<Catalog>(TOKENS.catalog.id).toConstantValue(catalog);
    container.bind<Providers>(TOKENS.providers.id).toConstantValue({ find: (name) => connected.get(name) });
    const context = createContext(portsFrom(container), config.settings, options.log ?? SILENT);
    return { context, stores, objects, close: () => closeAll([() => sandbox.close(), () => stores.close()]) };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

/** The address a client uses when the operator names none. */
export function configuredUrl({ rest }: Pick<Config, 'rest'>, port = rest.port): string {
  return rest.publicUrl ?? `http://${rest.host.includes(':') ? `[${rest.host}]` : rest.host}:${port}`;
}

const SILENT: Log = { info: () => undefined, warn: () => undefined };

/** Resolves every port now, so that a missing binding stops the start and not the first request. */
function portsFrom(container: Container): Ports {
  return {
    accounts: resolve(container, TOKENS.accounts),
    generations: resolve(container, TOKENS.generations),
    claims: resolve(container, TOKENS.claims),
    uploads: resolve(container, TOKENS.uploads),
    credentials: resolve(container, TOKENS.credentials),
    objects: resolve(container, TOKENS.objects),
    wakeUps: resolve(container, TOKENS.wakeUps),
    providers: resolve(container, TOKENS.providers),
    catalog: resolve(container, TOKENS.catalog),
    mediaProbe: resolve(container, TOKENS.mediaProbe),
    clock: resolve(container, TOKENS.clock),
    ids: resolve(container, TOKENS.ids),
    digests: resolve(container, TOKENS.digests),
    jsonSchemas: resolve(container, TOKENS.jsonSchemas),
  };
}

async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  for (const close of closers) await close();
}
