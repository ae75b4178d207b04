import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { BSON } from 'mongodb';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import { MinioObjectStore } from '../../adapters/minio/minio-object-store.js';
import { setUpBucket } from '../../adapters/minio/set-up-bucket.js';
import { openSqlite } from '../../adapters/sqlite/open-sqlite.js';
import { TimerWakeUps } from '../../adapters/timers/timer-wake-ups.js';
import type { Context } from '../../core/context.js';
import { StepwiseAcceptances } from '../../core/generation/stepwise-acceptances.js';
import type { ObjectStore } from '../../core/ports/object-store.js';
import { DATABASE_PORTS, pickPorts } from '../../core/ports/ports.js';
import type { WakeUps } from '../../core/ports/wake-ups.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { MemoryObjectStore } from '../adapters/memory/object-store.js';
import { MemoryWakeUps, MemoryWakeUpTable } from '../adapters/memory/wake-ups.js';
import type { MongoPlace } from '../adapters/mongo/on-mongo.js';
import { collected, streamOf } from '../fixtures/byte-streams.js';
import { ManualClock, settled } from '../fixtures/clocks.js';
import { intercepted, type Interceptor, type PortCall } from '../fixtures/intercepted.js';
import { memoryStores, SeededIds, type Stores } from '../fixtures/memory-stores.js';
import { catalogOf, imageModel } from '../fixtures/models.js';
import { ReceivingSender } from '../fixtures/receiving-sender.js';
import { oneProvider, ScriptedProvider } from '../fixtures/scripted-provider.js';
import { openDarkroom, throughStores } from '../harness/darkroom.js';
import { freshBucket } from '../servers/fresh-places.js';
import type { S3Server } from '../servers/servers.js';

const MONTH_MS = 30 * 86_400_000;
const MODELS = [imageModel({ queueTimeoutMs: MONTH_MS })];

/** One set of stores; every process on it has its own wake-ups. */
export interface OpenedStores {
  readonly stores: Stores;
  wakeUps(clock: ManualClock, interceptor: Interceptor): WakeUps;
  /** Everything that is stored, byte by byte: files, documents, or values in memory, with a name for each. */
  contents(): Promise<ReadonlyMap<string, Buffer>>;
  close(): Promise<void>;
}

export async function openMemoryStores(clock: ManualClock): Promise<OpenedStores> {
  const table = new MemoryWakeUpTable();
  const stores = memoryStores(clock);
  return {
    stores,
    contents: async () =>
      new Map(Object.entries({ ...stores, table }).map(([name, store]) => [name, Buffer.concat([...partsOf(store)])])),
    wakeUps: () => new MemoryWakeUps({ clock, table }),
    close: () => Promise.resolve(),
  };
}

export async function openSqliteStores(clock: ManualClock): Promise<OpenedStores> {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-properties-'));
  const opened = await openSqlite({ folder, role: 'server' });
  const objects = await FileObjectStore.open({
    folder: join(folder, 'objects'),
    publicBaseUrl: () => 'http://localhost',
    secret: new Uint8Array(32).fill(7),
    clock,
  });
  return {
    stores: { ...pickPorts(opened, DATABASE_PORTS), objects },
    wakeUps: (_, interceptor) =>
      new TimerWakeUps({ table: intercepted('wakeUpTable', opened.wakeUpTable, interceptor), clock }),
    contents: async () =>
      new Map(
        readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .map((path) => [path, Buffer.concat([Buffer.from(path), readFileSync(path)])]),
      ),
    close: async () => {
      await opened.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** MongoDB, and a separate bucket on an S3 server. */
export async function openMongoStores(place: MongoPlace, server: S3Server, clock: ManualClock): Promise<OpenedStores> {
  const bucket = freshBucket(server);
  await setUpBucket(bucket);
  const objects = await MinioObjectStore.open({ ...bucket, clock: { now: () => Date.now() } });
  const opened = await place.open();
  return {
    stores: {
      ...pickPorts(opened, DATABASE_PORTS),
      acceptances: new StepwiseAcceptances(opened),
      objects: signedBy(new MemoryObjectStore({ clock }), objects),
    },
    wakeUps: (_, interceptor) =>
      new TimerWakeUps({ table: intercepted('wakeUpTable', opened.wakeUpTable, interceptor), clock }),
    contents: async () => {
      const found = new Map<string, Buffer>();
      for (const collection of await place.db.collections()) {
        const documents = await collection.find().toArray();
        found.set(collection.collectionName, Buffer.concat(documents.map((one) => Buffer.from(BSON.serialize(one)))));
      }
      for (const [key, bytes] of await bucket.objects()) found.set(key, Buffer.concat([Buffer.from(key), bytes]));
      return found;
    },
    close: async () => {
      await place.settle();
      await bucket.remove();
    },
  };
}

/** The texts and bytes of a value, however deep. */
function* partsOf(value: unknown, seen = new Set<unknown>()): Generator<Buffer> {
  if (typeof value === 'string') yield Buffer.from(`${value}\n`);
  if (value instanceof Uint8Array) yield Buffer.from(value);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || seen.has(value)) return;
  seen.add(value);
  for (const [name, member] of value instanceof Map ? value : Object.entries(value)) {
    yield Buffer.from(String(name));
    yield* partsOf(member, seen);
  }
}

/** The addresses are not used here, and they are signed with the test's time instead of the server's. */
function signedBy(signer: ObjectStore, store: ObjectStore): ObjectStore {
  return {
    write: (...args) => store.write(...args),
    read: (...args) => store.read(...args),
    stat: (...args) => store.stat(...args),
    copy: (...args) => store.copy(...args),
    remove: (...args) => store.remove(...args),
    signPut: (target) => signer.signPut(target),
    signGet: (target) => signer.signGet(target),
  };
}

/**
 * Core over any stores, on a clock that only a test moves. Calls on the stores are counted while they are in flight, so
 * that the clock advances only when nothing more can happen, on a disk too.
 */
export class StoreHarness {
  private underWay = 0;
  readonly clock = new ManualClock(undefined, () => this.rest());
  readonly provider = new ScriptedProvider();
  readonly receiver = new ReceivingSender();
  readonly ids = new SeededIds();
  /** Everything that was logged, as text. */
  readonly logged: string[] = [];
  readonly settings = DEFAULT_SETTINGS;
  context!: Context;
  private opened!: OpenedStores;

  static async open(open: (clock: ManualClock) => Promise<OpenedStores>): Promise<StoreHarness> {
    const harness = new StoreHarness();
    harness.opened = await open(harness.clock);
    harness.context = harness.process();
    return harness;
  }

  close(): Promise<void> {
    return this.opened.close();
  }

  /** A separate process; `interceptor` receives every call it makes on the stores. */
  process(interceptor: Interceptor = (call) => call.proceed()): Context {
    const counted: Interceptor = (call) => this.counted(call, interceptor);
    return openDarkroom({
      ports: {
        ...this.opened.stores,
        wakeUps: this.opened.wakeUps(this.clock, counted),
        providers: oneProvider(this.provider),
        webhookSender: this.receiver,
        catalog: catalogOf(() => MODELS),
        clock: this.clock,
        ids: this.ids,
      },
      around: throughStores(counted),
      settings: this.settings,
      log: { info: this.note, warn: this.note },
    });
  }

  contents(): Promise<ReadonlyMap<string, Buffer>> {
    return this.opened.contents();
  }

  private readonly note = (event: string, about: object): void => {
    this.logged.push(`${event} ${inspect(about, { depth: 10 })}`);
  };

  private async counted(call: PortCall, interceptor: Interceptor): Promise<unknown> {
    this.underWay += 1;
    try {
      const result = await interceptor(call);
      // Bytes are read completely while the call counts.
      return call.name === 'objects.read' && result !== null
        ? streamOf(await collected(result as AsyncIterable<Uint8Array>))
        : result;
    } finally {
      this.underWay -= 1;
    }
  }

  private async rest(): Promise<void> {
    do await settled();
    while (this.underWay > 0);
    // The consequences of the last answer may include new calls.
    await settled();
    if (this.underWay > 0) await this.rest();
  }
}
