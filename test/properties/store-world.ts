import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import { MemoryAccountStore } from '../../adapters/memory/memory-account-store.js';
import { MemoryClaimStore } from '../../adapters/memory/memory-claim-store.js';
import { MemoryCredentialStore } from '../../adapters/memory/memory-credential-store.js';
import { MemoryGenerationStore } from '../../adapters/memory/memory-generation-store.js';
import { MemoryObjectStore } from '../../adapters/memory/memory-object-store.js';
import { MemoryUploadStore } from '../../adapters/memory/memory-upload-store.js';
import { MemoryWakeUps } from '../../adapters/memory/memory-wake-ups.js';
import { MemoryWakeUpTable } from '../../adapters/memory/wake-up-table.js';
import { openSqlite } from '../../adapters/sqlite/open-sqlite.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { SystemDigests } from '../../adapters/system/system-digests.js';
import { TimerWakeUps } from '../../adapters/timers/timer-wake-ups.js';
import { createContext, type Context } from '../../core/context.js';
import type { Ports } from '../../core/ports/tokens.js';
import type { WakeUps } from '../../core/ports/wake-ups.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { imageModel } from '../fixtures/core-models.js';
import { intercepted, type Interceptor, type PortCall } from '../fixtures/intercepted.js';
import { ManualClock, settled } from '../fixtures/manual-clock.js';
import { PlainMediaProbe, streamOf } from '../fixtures/plain-media.js';
import { ScriptedProvider } from '../fixtures/scripted-provider.js';
import { SeededIds } from '../fixtures/seeded-ids.js';

const KEPT = ['accounts', 'generations', 'claims', 'uploads', 'credentials', 'objects'] as const;
const MONTH_MS = 30 * 86_400_000;

/** One set of stores; every process on it has wake-ups of its own. */
export interface Stores {
  readonly ports: Pick<Ports, (typeof KEPT)[number]>;
  wakeUps(clock: ManualClock, wrap: <T extends object>(name: string, port: T) => T): WakeUps;
  close(): Promise<void>;
}

export async function memoryStores(clock: ManualClock): Promise<Stores> {
  const table = new MemoryWakeUpTable();
  return {
    ports: {
      accounts: new MemoryAccountStore(), generations: new MemoryGenerationStore(), claims: new MemoryClaimStore(),
      uploads: new MemoryUploadStore(), credentials: new MemoryCredentialStore(), objects: new MemoryObjectStore({ clock }),
    },
    wakeUps: () => new MemoryWakeUps({ clock, table }),
    close: () => Promise.resolve(),
  };
}

export async function sqliteStores(clock: ManualClock): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-properties-'));
  const { accounts, generations, claims, uploads, credentials, wakeUpTable, ...opened } = await openSqlite({ folder, role: 'server' });
  const objects = await FileObjectStore.open({ folder: join(folder, 'objects'), publicBaseUrl: () => 'http://localhost', secret: new Uint8Array(32).fill(7), clock });
  return {
    ports: { accounts, generations, claims, uploads, credentials, objects },
    wakeUps: (_, wrap) => new TimerWakeUps({ table: wrap('wakeUpTable', wakeUpTable), clock }),
    close: async () => {
      await opened.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Core over any stores on a clock that only a test moves. Calls on the stores are counted while they are under way, so
 * that the clock knows when nothing more can happen before it moves, on a disk too.
 */
export class StoreWorld {
  private underWay = 0;
  readonly clock = new ManualClock(undefined, () => this.rest());
  readonly provider = new ScriptedProvider();
  readonly ids = new SeededIds();
  readonly settings = DEFAULT_SETTINGS;
  readonly warnings: string[] = [];
  context!: Context;
  private stores!: Stores;

  static async open(openStores: (clock: ManualClock) => Promise<Stores>): Promise<StoreWorld> {
    const world = new StoreWorld();
    world.stores = await openStores(world.clock);
    world.context = world.process();
    return world;
  }

  close(): Promise<void> {
    return this.stores.close();
  }

  /** A process of its own; `interceptor` sees every call it makes on the stores. */
  process(interceptor: Interceptor = (call) => call.proceed()): Context {
    const wrap = <T extends object>(name: string, port: T): T => intercepted(name, port, (call) => this.counted(call, interceptor));
    const models = [imageModel({ queueTimeoutMs: MONTH_MS })];
    const { ports } = this.stores;
    return createContext({
      accounts: wrap('accounts', ports.accounts), generations: wrap('generations', ports.generations), claims: wrap('claims', ports.claims),
      uploads: wrap('uploads', ports.uploads), credentials: wrap('credentials', ports.credentials), objects: wrap('objects', ports.objects),
      wakeUps: this.stores.wakeUps(this.clock, wrap),
      providers: { find: () => this.provider },
      catalog: { models: () => models, find: (key) => models.find(({ modelKey }) => modelKey === key) },
      mediaProbe: new PlainMediaProbe(), clock: this.clock, ids: this.ids,
      digests: new SystemDigests({ secret: new Uint8Array(32).fill(7) }), jsonSchemas: new AjvJsonSchemas(),
    }, this.settings, { info: () => undefined, warn: (event) => { this.warnings.push(event); } });
  }

  private async counted(call: PortCall, interceptor: Interceptor): Promise<unknown> {
    this.underWay += 1;
    try {
      const result = await interceptor(call);
      // Bytes are read whole, as long as the call counts.
      return call.name === 'objects.read' && result !== null ? streamOf(await whole(result as AsyncIterable<Uint8Array>)) : result;
    } finally {
      this.underWay -= 1;
    }
  }

  private async rest(): Promise<void> {
    do await settled(); while (this.underWay > 0);
    // What the last answer led to may have begun something new.
    await settled();
    if (this.underWay > 0) await this.rest();
  }
}

export async function whole(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
