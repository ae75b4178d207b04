/**
 * Measures searches of generations: `node dist/bench/search.js sqlite|mongo COUNT`. Fills a fresh store with generations of one
 * account, whose words are as frequent as those of a language, indexes them, and prints times and sizes as JSON.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateMongo, openMongo } from '../adapters/mongo/open-mongo.js';
import { openSqlite } from '../adapters/sqlite/open-sqlite.js';
import { SystemClock } from '../adapters/system/system-clock.js';
import type { Identity, Work } from '../core/context.js';
import {
  type AccountFilter,
  listAccountGenerations,
  searchAccountGenerations,
} from '../core/generation/account-generations.js';
import type { Generation } from '../core/generation/generation.js';
import { leastIdAt } from '../core/ids.js';
import type { DatabasePort, Ports } from '../core/ports/ports.js';
import { SearchIndexer } from '../core/search/index-generations.js';
import { DEFAULT_SETTINGS } from '../core/settings.js';
import { aGeneration, uuidAt } from '../test/fixtures/stored-records.js';
import { ServerProcess } from '../test/servers/server-process.js';
import { usageOfThisProcess } from './usage.js';
import { percentile } from './statistics.js';

type Stores = Pick<Ports, DatabasePort>;

const [, , kind = 'sqlite', count = '1000000'] = process.argv;
const COUNT = Number(count);
const UNDER_WAY = 500;
const WORDS = 30_000;
const WORDS_PER_PROMPT = 18;
const REPEATS = 200;
const ACCOUNT = uuidAt(1);
const APPS = [uuidAt(11), uuidAt(12)];
const folder = mkdtempSync(join(tmpdir(), 'darkroom-search-'));

/** A word of this rank: the lower, the more often it is used. */
function word(rank: number): string {
  const letters = [...String(rank)].map((digit) => 'aeiourstln'[Number(digit)] ?? '').join('');
  return `${'bcdfghjkmpqvwxyz'[rank % 16]}${letters}`;
}

/** Ranks as in Zipf's law. */
function drawnWord(): string {
  return word(Math.min(WORDS - 1, Math.floor(Math.exp(Math.random() * Math.log(WORDS)) - 1)));
}

function generationAt(index: number): Generation {
  const createdAt = 1_700_000_000_000 + index * 1_000;
  const tail = randomBytes(8).toString('hex');
  const generationId = `${leastIdAt(createdAt).slice(0, 19)}8${tail.slice(0, 3)}-${tail.slice(3, 15)}`;
  return aGeneration(index, {
    generationId,
    accountId: ACCOUNT,
    appId: APPS[index % 10 === 0 ? 1 : 0] ?? '',
    credentialId: uuidAt(index % 5_000 === 0 ? 501 : 500),
    clientTraceId: `trace-${index}`,
    status: index % 1_000 === 7 ? 'failed' : 'succeeded',
    modelKey: `model-${index % 5}`,
    modality: index % 100 === 0 ? 'video' : 'image',
    prompt: Array.from({ length: WORDS_PER_PROMPT }, drawnWord).join(' '),
    createdAt,
    settledAt: createdAt,
  });
}

async function fill({ generations }: Stores): Promise<void> {
  let begun = 0;
  const addMany = async (): Promise<void> => {
    for (; begun < COUNT;) {
      begun += 1;
      await generations.insert(generationAt(begun));
    }
  };
  await Promise.all(Array.from({ length: UNDER_WAY }, addMany));
}

async function indexAll(stores: Stores): Promise<object> {
  const context = {
    ...stores,
    clock: new SystemClock(),
    log: { info: () => undefined, warn: (event: string, about: unknown) => console.error(event, about) },
    settings: DEFAULT_SETTINGS,
    boot: { id: uuidAt(9), isExclusive: false },
  };
  const indexer = new SearchIndexer(context, { batch: 100, newest: 20_000, earlier: COUNT });
  const [beganAt, before] = [performance.now(), usageOfThisProcess().cpuMicros];
  await indexer.pass();
  const seconds = (performance.now() - beganAt) / 1_000;
  return {
    indexedPerSecond: Math.round(COUNT / seconds),
    cpuMicrosPerGeneration: Math.round((usageOfThisProcess().cpuMicros - before) / COUNT),
  };
}

async function measure(stores: Stores): Promise<object> {
  const context = { ...stores, call: undefined } as unknown as Work & Identity;
  const page = { limit: 50 };
  const [id = ''] = (await stores.generations.list({ of: 'all' }, { limit: 1 })).items.map((g) => g.generationId);
  const search =
    (query: string, filter: AccountFilter = {}) =>
    () =>
      searchAccountGenerations(context, ACCOUNT, { ...filter, query, mayReadPrompts: true }, page);
  const list = (filter: AccountFilter) => () => listAccountGenerations(context, ACCOUNT, filter, page);
  const cases: Readonly<Record<string, () => Promise<{ readonly items: readonly unknown[] }>>> = {
    'common word': search(word(3)),
    'rare word': search(word(25_000)),
    'two common words': search(`${word(20)} ${word(40)}`),
    'common and rare word': search(`${word(3)} ${word(25_000)}`),
    'prefix of one letter': search('b'),
    'prefix of three letters': search(word(1_234).slice(0, 3)),
    'common word, rare status': search(word(3), { status: 'failed' }),
    'common word, rare key': search(word(3), { credentialId: uuidAt(501) }),
    'id': search(id),
    'start of an id': search(id.slice(0, 10)),
    'trace id': search('trace-77'),
    'list': list({}),
    'list, rare status': list({ status: 'failed' }),
    'list, rare key': list({ credentialId: uuidAt(501) }),
    'list, rare modality': list({ modality: 'video' }),
    'list, model and rare status': list({ modelKey: 'model-2', status: 'failed' }),
  };
  const measured: Record<string, object> = {};
  for (const [name, run] of Object.entries(cases)) {
    const times: number[] = [];
    let items = 0;
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      const beganAt = performance.now();
      items = (await run()).items.length;
      times.push(performance.now() - beganAt);
    }
    measured[name] = { items, p50: rounded(percentile(times, 0.5)), p99: rounded(percentile(times, 0.99)) };
  }
  return measured;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

async function onSqlite(): Promise<void> {
  const stores = await openSqlite({ folder, role: 'server' });
  const size = () => statSync(join(folder, 'darkroom.db')).size;
  try {
    await addApps(stores);
    await fill(stores);
    const before = size();
    const indexed = await indexAll(stores);
    const bytesPerGeneration = Math.round((size() - before) / COUNT);
    print({ ...indexed, bytesPerGeneration, ...(await measure(stores)) });
  } finally {
    await stores.close();
  }
}

async function onMongo(): Promise<void> {
  const server = await ServerProcess.start('mongo-replica-set', { folder: join(folder, 'mongo'), isSynced: false });
  const options = { url: server.url, database: 'darkroom', timeoutMs: 60_000 };
  await migrateMongo(options);
  const stores = await openMongo(options);
  try {
    await addApps(stores);
    await fill(stores);
    const indexed = await indexAll(stores);
    await new Promise((resolve) => setTimeout(resolve, 65_000));
    const stats = await stores.db.command({ collStats: 'search_entries' });
    const bytes = Number(stats['storageSize']) + Number(stats['totalIndexSize']);
    print({ ...indexed, bytesPerGeneration: Math.round(bytes / COUNT), ...(await measure(stores)) });
  } finally {
    await stores.close();
    await server.stop();
  }
}

async function addApps({ credentials }: Stores): Promise<void> {
  for (const appId of APPS) await credentials.insertApp({ appId, accountId: ACCOUNT, name: 'app', createdAt: 1 });
}

function print(results: object): void {
  console.log(JSON.stringify({ store: kind, generations: COUNT, ...results }, null, 2));
}

try {
  await (kind === 'mongo' ? onMongo() : onSqlite());
} finally {
  rmSync(folder, { recursive: true });
}
