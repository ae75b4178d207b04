import 'reflect-metadata';
import { join } from 'node:path';
import { Container } from 'inversify';
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
import type { Settings } from '../core/settings.js';
import { openSecrets } from './secrets.js';

export interface ProgramOptions {
  readonly dataFolder: string;
  readonly catalog: Catalog;
  /** Where clients reach the REST process; signed addresses begin with it. Asked for whenever one is signed. */
  readonly publicUrl: () => string;
  readonly settings: Settings;
  readonly log: Log;
  readonly sandboxThreads?: number;
  /** A server has the data folder to itself; tools work beside it. */
  readonly role: 'server' | 'tool';
}

export interface Program {
  readonly context: Context;
  readonly stores: SqliteStores;
  readonly objects: FileObjectStore;
  close(): Promise<void>;
}

/** Opens a data folder and puts the program together over it. Throws one sentence when the folder cannot be used. */
export async function openProgram(options: ProgramOptions): Promise<Program> {
  const stores = await openSqlite({ folder: options.dataFolder, role: options.role });
  try {
    const clock = new SystemClock();
    const secrets = openSecrets(options.dataFolder);
    const objects = await FileObjectStore.open({
      folder: join(options.dataFolder, 'objects'),
      publicBaseUrl: options.publicUrl,
      secret: secrets.objects,
      clock,
    });
    const sandbox = new SandboxProvider({ clock, ...(options.sandboxThreads === undefined ? {} : { threads: options.sandboxThreads }) });
    const connected = new Map<string, Provider>([['sandbox', sandbox]]);
    const container = new Container();
    container.load(systemModule({ secret: secrets.credentials }), mediaModule, sqliteModule(stores), timersModule(stores.wakeUpTable), filesModule(objects));
    container.bind<Catalog>(TOKENS.catalog.id).toConstantValue(options.catalog);
    container.bind<Providers>(TOKENS.providers.id).toConstantValue({ find: (name) => connected.get(name) });
    const context = createContext(portsFrom(container), options.settings, options.log);
    return { context, stores, objects, close: () => closeAll([() => sandbox.close(), () => stores.close()]) };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

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
