// Goal: on real stores, generations of all Apps of an account are found by word, beginning of a word, id and trace id, before
// and after the index has them, and nothing finds a deleted one or its thumbnails. The index is filled again from the
// generations after an upgrade, a kill in the middle and a restore; searches are complete all the while.
// Method: one Darkroom over each set of stores, whose clock is advanced, and hostile queries; then the compiled server on each set of stores,
// with more earlier generations than one pass of the indexer takes in, killed, emptied and restored.
import { DatabaseSync } from '@photostructure/sqlite';
import { create } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import { MinioObjectStore } from '../../adapters/minio/minio-object-store.js';
import { setUpBucket } from '../../adapters/minio/set-up-bucket.js';
import { migrateMongo, openMongo } from '../../adapters/mongo/open-mongo.js';
import { migrated, openPostgres } from '../../adapters/postgres/open-postgres.js';
import { openSqlite } from '../../adapters/sqlite/open-sqlite.js';
import { digestOf } from '../../apps/grpc/callers.js';
import { GenerationStatus, Generations } from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import {
  type FindGenerationsResponse,
  FindGenerationsResponseSchema,
  Operations,
} from '../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { createApp } from '../../core/access/manage.js';
import type { Context } from '../../core/context.js';
import { type Generation, THUMBNAIL_SIDES_PX } from '../../core/generation/generation.js';
import { thumbnailKeysOf } from '../../core/generation/thumbnails.js';
import { leastIdAt } from '../../core/ids.js';
import type { Clock } from '../../core/ports/machine.js';
import { DATABASE_PORTS, pickPorts } from '../../core/ports/ports.js';
import { BEFORE_ALL_IDS, SearchIndexer } from '../../core/search/index-generations.js';
import { termsOf } from '../../core/search/words.js';
import { until } from '../fixtures/clocks.js';
import { newOwner, type Owner } from '../fixtures/memory-stores.js';
import { uuidAt } from '../fixtures/stored-records.js';
import { unary } from '../fronts/grpc/grpc-client.js';
import { errorOf, GrpcHarness, PICTURE, refusalOf } from '../fronts/grpc/grpc-harness.js';
import { type RunningServer, serve } from '../fronts/http/host/rest-client.js';
import { queued } from '../core/generation/generations.js';
import type { HarnessOptions, OpenedPorts } from '../harness/service-harness.js';
import { STORE_PAIRS, type StorePair } from '../harness/store-pairs.js';
import { freshBucket, freshDatabase, freshPostgresDatabase } from '../servers/fresh-places.js';
import { queryOnce } from '../servers/postgres-client.js';
import { sizeOf } from '../harness/run-sizes.js';
import { mongoServer, orSkip, postgresServer, s3Server } from '../servers/servers.js';
import { EMBEDDED, type Lane, LANES, type OpenLane } from './lanes.js';
import { LiveService, type Tenant } from './live-service.js';

const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const idsOf = ({ generations }: FindGenerationsResponse): readonly string[] =>
  generations.map(({ generation }) => generation?.generationId ?? '');

/** The stores of one Darkroom; skips the suite where a server is absent. */
type OpenStores = (suite: Mocha.Context) => Promise<NonNullable<HarnessOptions['open']>>;

const PLACES: Readonly<Record<string, OpenStores>> = {
  'SQLite and files': () => Promise.resolve(openEmbedded),
  ...Object.fromEntries(STORE_PAIRS.map((pair) => [`MongoDB (${pair.mongo}) and ${pair.s3}`, openShared(pair)])),
  'PostgreSQL and minio': openPostgresStores,
};

async function openEmbedded(clock: Clock): Promise<OpenedPorts> {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-search-'));
  const stores = await openSqlite({ folder, role: 'server' });
  const objects = await FileObjectStore.open({
    folder: join(folder, 'objects'),
    publicBaseUrl: () => 'http://localhost',
    secret: new Uint8Array(32).fill(7),
    clock,
  });
  const close = async (): Promise<void> => {
    await stores.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ports: { ...pickPorts(stores, DATABASE_PORTS), objects }, close };
}

function openShared({ mongo, s3 }: StorePair): OpenStores {
  return async (suite) => {
    const database = freshDatabase(await orSkip(suite, mongoServer(mongo)));
    const bucket = freshBucket(await orSkip(suite, s3Server(s3)));
    return async (clock) => {
      await Promise.all([migrateMongo(database), setUpBucket(bucket)]);
      const stores = await openMongo(database);
      const objects = await MinioObjectStore.open({ ...bucket, clock });
      const close = async (): Promise<void> => {
        await stores.close();
        await Promise.all([database.drop(), bucket.remove()]);
      };
      return { ports: { ...pickPorts(stores, DATABASE_PORTS), objects }, close };
    };
  };
}

async function openPostgresStores(suite: Mocha.Context): ReturnType<OpenStores> {
  const server = await orSkip(suite, postgresServer('18'));
  const bucket = freshBucket(await orSkip(suite, s3Server('minio')));
  return async (clock) => {
    const database = await freshPostgresDatabase(server);
    await Promise.all([migrated(database), setUpBucket(bucket)]);
    const stores = await openPostgres(database);
    const objects = await MinioObjectStore.open({ ...bucket, clock });
    const close = async (): Promise<void> => {
      await stores.close();
      await Promise.all([database.drop(), bucket.remove()]);
    };
    return { ports: { ...pickPorts(stores, DATABASE_PORTS), objects }, close };
  };
}

for (const [name, openStores] of Object.entries(PLACES)) {
  describe(`generations of two Apps on ${name}`, () => {
    let grpc: GrpcHarness;
    let rest: RunningServer;
    /** A fox in the first App, foxglove in the other one, and a dog in the first. */
    let made: Readonly<Record<'fox' | 'foxglove' | 'dog', string>>;
    /** An account with a generation of the same words and the same trace id. */
    let stranger: Owner & { readonly generationId: string };
    before(async function servers() {
      grpc = await GrpcHarness.open({ open: await openStores(this) });
      rest = await serve(grpc.harness);
      await grpc.harness.startWorker();
      const { accountId } = grpc.owner;
      const other = await createApp(grpc.harness.context, { accountId, name: 'other' });
      made = {
        fox: await generate('A red Fox, at dawn', 'order-1'),
        foxglove: await generate('foxglove in the rain', 'order-2', other.appId),
        dog: await generate('ein schwarzer Hund, 黒い犬', 'order-3'),
      };
      const eve = await newOwner(grpc.harness.context, 'eve', 1_000);
      stranger = { ...eve, generationId: await generate('A red Fox, at dawn', 'order-1', eve.appId, eve.accountId) };
      await until(async () => {
        const { generations } = await find();
        return generations.length === 3 && generations.every((one) => isSettled(one.generation?.status));
      });
    });
    after(async () => {
      await rest?.server.close(100);
      await grpc?.close();
    });

    const isSettled = (status: GenerationStatus | undefined): boolean => status === GenerationStatus.SUCCEEDED;

    async function generate(
      prompt: string,
      clientTraceId: string,
      appId = grpc.owner.appId,
      accountId = grpc.owner.accountId,
    ): Promise<string> {
      const request = { input: { ...PICTURE, prompt, clientTraceId }, idempotencyKey: clientTraceId };
      const { createGeneration } = Generations.method;
      const { generation } = await grpc.call(createGeneration, request, 'all', { accountId, appId });
      return generation?.generationId ?? '';
    }
    const find = (
      q?: string,
      more: { accountId?: string; pageToken?: string; status?: GenerationStatus } = {},
    ): Promise<FindGenerationsResponse> =>
      grpc.call(Operations.method.findGenerations, {
        accountId: grpc.owner.accountId,
        ...(q === undefined ? {} : { q }),
        ...more,
      });
    async function expectFound(cases: readonly (readonly [q: string, ids: readonly string[]])[]): Promise<void> {
      for (const [q, ids] of cases) expect(idsOf(await find(q)), q).to.deep.equal(ids);
    }
    const indexed = async (word: string): Promise<readonly string[]> => {
      const { generationSearch } = grpc.harness.context;
      const query = { terms: termsOf(word), before: AFTER_ALL_IDS, from: BEFORE_ALL_IDS, limit: 10 };
      return (await generationSearch.find({ accountId: grpc.owner.accountId, ...query })).generationIds;
    };
    const expectAllFound = (): Promise<void> =>
      expectFound([
        ['fox', [made.foxglove, made.fox]],
        ['FOXGL', [made.foxglove]],
        ['dawn red', [made.fox]],
        ['黒い', [made.dog]],
        ['order-2', [made.foxglove]],
        [made.dog, [made.dog]],
        [made.fox.toUpperCase(), [made.fox]],
        ['wolf', []],
      ]);

    it('are found before the index has them', async () => {
      expect(await indexed('fox')).to.deep.equal([]);
      await expectAllFound();
    });

    it('are found in the index', async () => {
      grpc.harness.clock.advance(10 * 60_000);
      await new SearchIndexer(grpc.harness.context).pass();
      expect(await indexed('fox')).to.deep.equal([made.foxglove, made.fox]);
      await expectAllFound();
    });

    it('are never found in another account', async () => {
      const elsewhere = { accountId: stranger.accountId };
      for (const q of ['fox', 'order-1', stranger.generationId])
        expect(idsOf(await find(q, elsewhere)), q).to.deep.equal([stranger.generationId]);
      for (const q of ['foxglove', 'order-2', made.fox, made.foxglove])
        expect(idsOf(await find(q, elsewhere)), q).to.deep.equal([]);
      expect(idsOf(await find(stranger.generationId))).to.deep.equal([]);
    });

    it('are found by words alone, whatever else a query looks like', async () => {
      await expectFound([
        ['fox*', [made.foxglove, made.fox]],
        ['"red fox"', [made.fox]],
        ['^fox$', [made.foxglove, made.fox]],
        ['+red -dawn', [made.fox]],
        ['.*fox.*', [made.foxglove, made.fox]],
        ['%fox%', [made.foxglove, made.fox]],
        ['fox\u202Egol', []],
        ['f_x', []],
        ['f.x', []],
        ['fox OR dog', []],
        ['red NEAR fox', []],
        ["fox' OR '1'='1", []],
        ['fox"; DROP TABLE generations; --', []],
        ['prompt:fox', []],
        ['terms:{"$ne":null}', []],
        ['{"$gt": ""}', []],
        ['$where', []],
        [`A:${grpc.owner.appId}`, []],
        ['M:picture', []],
        ['T:order-1', []],
        ['order-%', []],
      ]);
    });

    it('are searched for with the longest queries, and with every kind of character', async () => {
      const longest = (text: string): string => text.repeat(200).slice(0, 200);
      for (const text of [
        'qz ',
        'x',
        '9',
        '黒',
        'é',
        'e\u0301',
        '\u0301',
        'ﷺ',
        '🐈',
        '👩‍👩‍👧',
        '\u{10fffd}',
        'ก',
        'ﾞ',
        'İ',
        '\u200d ',
      ])
        expect(idsOf(await find(longest(text)).catch(noWords)), text).to.deep.equal([]);
      expect(idsOf(await find(`fox ${longest('red ')}`.slice(0, 200)))).to.deep.equal([made.fox]);
      for (const text of ['?', '.*', '()[]', '%%', '--', '\u200b', '\u3002', '"" ""'])
        expect(refusalOf(await errorOf(find(text))), text).to.deep.equal([Status.INVALID_ARGUMENT, 'FIELD_INVALID']);
    });

    it('are not confused by a forged position in a token', async () => {
      const { digests } = grpc.harness.context;
      const { accountId } = grpc.owner;
      for (const q of ['fox', 'order-1', made.fox.slice(0, 8), undefined]) {
        const list = `found generations of ${accountId} ${digests.ofJson({ q: q ?? null })}`;
        for (const mode of ['', 'm', 'f', 't', 'i', 'x'])
          for (const place of [
            '',
            'x',
            '.',
            'NaN.x',
            '1e999.',
            '-1.',
            "' OR 1=1 --",
            '\0',
            '{$gt:1}',
            'f'.repeat(900),
          ]) {
            const pageToken = Buffer.from(`${list}\n${mode}${place}`).toString('base64url');
            const outcome = await find(q, { pageToken }).then(
              (page) => idsOf(page),
              (error: ServiceError) => Status[error.code],
            );
            if (outcome !== 'INVALID_ARGUMENT')
              expect(Object.values(made), `${q} ${mode}${place}: ${String(outcome)}`).to.include.members([...outcome]);
          }
      }
    });

    it('are all listed for an account with more Apps than are merged', async () => {
      const { context } = grpc.harness;
      const { accountId, appId } = await newOwner(context, 'many Apps', 1_000);
      for (let n = 0; n < 101; n += 1) await createApp(context, { accountId, name: `app ${n}` });
      const generationId = await generate('a heron', 'order-4', appId, accountId);
      const listed = async (status?: GenerationStatus): Promise<readonly string[]> =>
        idsOf(await find(undefined, { accountId, ...(status === undefined ? {} : { status }) }));
      await until(async () => (await listed(GenerationStatus.SUCCEEDED)).length > 0);
      expect(await listed()).to.deep.equal([generationId]);
      expect(await listed(GenerationStatus.SUCCEEDED)).to.deep.equal([generationId]);
      expect(await listed(GenerationStatus.FAILED)).to.deep.equal([]);
    });

    it('are found by nothing once they are deleted, and have no thumbnails', async () => {
      const { objects, generations } = grpc.harness.context;
      const { outputs } = (await generations.read(made.fox)) as Generation;
      const shown = await grpc.call(Generations.method.getThumbnails, { generationId: made.fox });
      const paths = shown.outputs.flatMap((one) => one.thumbnails.map(({ url }) => new URL(url)));
      expect(paths).to.have.length(THUMBNAIL_SIDES_PX.length);
      const statuses = () =>
        Promise.all(paths.map(async ({ pathname, search }) => (await fetch(rest.origin + pathname + search)).status));
      const keys = outputs.flatMap(({ objectKey }) => [objectKey, ...thumbnailKeysOf(objectKey)]);
      const stored = async () =>
        (await Promise.all(keys.map((key) => objects.stat(key)))).filter((one) => one !== null);
      expect(new Set(await statuses())).to.deep.equal(new Set([200]));
      expect(await stored()).to.have.length(keys.length);

      await grpc.call(Generations.method.deleteGeneration, { generationId: made.fox });
      await expectFound([
        ['fox', [made.foxglove]],
        ['dawn', []],
        ['order-1', []],
        [made.fox, []],
      ]);
      expect(idsOf(await find())).to.deep.equal([made.dog, made.foxglove]);
      expect(await indexed('dawn')).to.deep.equal([]);
      expect(new Set(await statuses())).to.deep.equal(new Set([404]));
      expect(await stored()).to.deep.equal([]);
    });
  });
}

/** No generations, for a query that has nothing but marks. */
function noWords(error: ServiceError): FindGenerationsResponse {
  expect(refusalOf(error)).to.deep.equal([Status.INVALID_ARGUMENT, 'FIELD_INVALID']);
  return create(FindGenerationsResponseSchema);
}

/** More than the 5,000 earlier generations that one pass of the indexer takes in. */
const EARLIER = 5_200;
const TOKEN = 'a-token-of-the-service-that-searches';
const CALLERS = JSON.stringify({
  callers: [{ name: 'searcher', token_sha256: digestOf(TOKEN), scopes: ['content:read'] }],
});
/** Long enough to find the index between two passes. */
const CONFIG = { worker: { recovery_interval_seconds: 3 } };

/** Removes what is known of generations in the index, as in a database that was migrated just now. */
type Empty = (service: LiveService) => Promise<void>;

async function emptySqlite({ folder }: LiveService): Promise<void> {
  const database = new DatabaseSync(join(folder, 'data', 'darkroom.db'));
  for (const table of ['search_terms', 'search_entries', 'search_accounts', 'search_progress'])
    database.exec(`DELETE FROM ${table}`);
  database.close();
}

const emptyShared =
  ({ config }: OpenLane): Empty =>
  async () => {
    if ('postgres' in config) {
      const { url } = config['postgres'] as { readonly url: string };
      for (const table of ['search_entries', 'search_progress']) await queryOnce(url, `DELETE FROM darkroom.${table}`);
      return;
    }
    const { url, database } = config['mongo'] as { readonly url: string; readonly database: string };
    const client = new MongoClient(url);
    for (const name of ['search_entries', 'search_progress']) await client.db(database).collection(name).deleteMany({});
    await client.close();
  };

for (const lane of LANES.slice(0, sizeOf('searchLanes'))) {
  describe(`the search index on ${lane.name}`, () => {
    let service: LiveService;
    let empty: Empty;
    let tenant: Tenant;
    /** The newest first. */
    let rare: readonly string[];
    before(async function prepare() {
      ({ service, empty } = await prepared(lane, this));
      [tenant] = (await service.tenants(2, 0)) as [Tenant, Tenant];
      rare = await insertEarlier(service, tenant);
    });
    after(() => service?.remove());

    it('is filled after an upgrade, also by a process after one that was killed', async () => {
      await service.server.start();
      await service.tool(async ({ context }) => {
        await until(async () => ((await context.generationSearch.readProgress())?.oldest ?? AFTER_ALL_IDS) < rare[0]!);
      });
      expect(await found(service, tenant, 'rare'), 'while it is filled').to.deep.equal(rare);
      await service.server.end('SIGKILL');
      expect((await oldestOf(service)) === BEFORE_ALL_IDS, 'killed at the end').to.equal(false);
      await service.tool(({ context }) => releaseHold(context));
      await service.server.start();
      expect(await found(service, tenant, 'rare'), 'after the kill').to.deep.equal(rare);
      await filled(service);
      await expectComplete(service, tenant, rare);
    });

    it('is filled again once it was emptied', async () => {
      await service.server.end('SIGTERM');
      await empty(service);
      await service.server.start();
      expect(await found(service, tenant, 'rare')).to.deep.equal(rare);
      await filled(service);
      await expectComplete(service, tenant, rare);
    });
  });
}

describe('the index of searches in a backup of a data folder', () => {
  let service: LiveService;
  let tenant: Tenant;
  let rare: readonly string[];
  before(async function prepare() {
    ({ service } = await prepared(EMBEDDED, this));
    [tenant] = (await service.tenants(2, 0)) as [Tenant, Tenant];
    rare = await insertEarlier(service, tenant);
    await service.server.start();
  });
  after(() => service?.remove());

  it('is complete after a restore, whether it was filled at the time of the backup or not', async () => {
    for (const isFilled of [false, true]) {
      if (isFilled) await filled(service);
      const backup = join(service.folder, `backup ${isFilled}`);
      expect(await service.run('backup', backup)).to.include({ code: 0, stderr: '' });
      const there = await LiveService.prepare({ callers: CALLERS, config: CONFIG });
      try {
        const { code, stderr } = await there.run('restore', backup);
        expect(code, stderr).to.equal(0);
        await there.tool(({ context }) => releaseHold(context));
        await there.server.start();
        expect(await found(there, tenant, 'rare')).to.deep.equal(rare);
        await filled(there);
        await expectComplete(there, tenant, rare);
      } finally {
        await there.remove();
      }
    }
  });
});

async function prepared(
  lane: Lane,
  suite: Mocha.Context,
): Promise<{ readonly service: LiveService; readonly empty: Empty }> {
  const open = await lane.open(suite);
  const isEmbedded = lane === EMBEDDED;
  const service = await LiveService.prepare({
    callers: CALLERS,
    config: CONFIG,
    ...(isEmbedded ? {} : { lane: open }),
  });
  return { service, empty: isEmbedded ? emptySqlite : emptyShared(open) };
}

/**
 * Inserts generations of the last hours as an earlier release did, without any in the index. Returns the ids of those with a
 * rare word, the newest first. Another account has the same words.
 */
function insertEarlier(service: LiveService, tenant: Tenant): Promise<readonly string[]> {
  const { accountId, appId } = tenant;
  return service.tool(async ({ context: { generations } }) => {
    const first = Date.now() - 4 * 3_600_000;
    const ids: string[] = [];
    const earlier = Array.from({ length: EARLIER }, (_, n): Generation => {
      const createdAt = first + n * 1_000;
      const isRare = n % 100 === 0;
      const isOther = n % 100 === 1;
      if (isRare) ids.push(leastIdAt(createdAt));
      return queued({
        status: 'failed',
        generationId: leastIdAt(createdAt),
        ...(isOther ? { accountId: uuidAt(7), appId: uuidAt(8) } : { accountId, appId }),
        prompt: `a fox, number${n}${isRare || isOther ? ', rare' : ''}`,
        createdAt,
        updatedAt: createdAt,
        completedAt: createdAt,
        settledAt: createdAt,
        estimatedCredits: 0,
        reservedCredits: 0,
        dueAt: createdAt + 30 * 86_400_000,
      });
    });
    for (let at = 0; at < EARLIER; at += 100)
      await Promise.all(earlier.slice(at, at + 100).map((record) => generations.insert(record)));
    return ids.toReversed();
  });
}

/** The ids on all pages of a search. */
async function found(service: LiveService, { accountId }: Tenant, q: string): Promise<readonly string[]> {
  const client = new Client(service.grpcAddress, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${TOKEN}`);
  const ids: string[] = [];
  try {
    for (let pageToken = ''; ;) {
      const page = await unary(client, Operations.method.findGenerations, { accountId, q, pageToken }, metadata);
      ids.push(...idsOf(page));
      if (page.nextPageToken === '') return ids;
      pageToken = page.nextPageToken;
    }
  } finally {
    client.close();
  }
}

const oldestOf = (service: LiveService): Promise<string | undefined> =>
  service.tool(async ({ context }) => (await context.generationSearch.readProgress())?.oldest);

/** Ends the hold of a killed process on the index, which otherwise lasts a minute. */
async function releaseHold({ generationSearch }: Pick<Context, 'generationSearch'>): Promise<void> {
  const progress = await generationSearch.readProgress();
  if (progress === null) throw new Error('No process has begun to fill the index.');
  const { version } = progress;
  const outcome = await generationSearch.replaceProgress({ ...progress, version: version + 1, heldUntil: 0 }, version);
  expect(outcome).to.equal('applied');
}

/** Waits until the index has all earlier generations. */
function filled(service: LiveService): Promise<void> {
  return service.tool(({ context }) =>
    until(async () => (await context.generationSearch.readProgress())?.oldest === BEFORE_ALL_IDS),
  );
}

/** The front finds what the index has, and both have all. */
async function expectComplete(service: LiveService, tenant: Tenant, rare: readonly string[]): Promise<void> {
  expect(await found(service, tenant, 'rare')).to.deep.equal(rare);
  const { generationIds } = await service.tool(({ context }) =>
    context.generationSearch.find({
      accountId: tenant.accountId,
      terms: termsOf('rare'),
      before: AFTER_ALL_IDS,
      from: BEFORE_ALL_IDS,
      limit: 1_000,
    }),
  );
  expect(generationIds).to.deep.equal(rare);
  expect(await found(service, tenant, 'number4200')).to.have.length(1);
}
