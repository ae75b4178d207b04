// Goal: after a SIGKILL on a data folder the next start immediately continues the running generations, and charges for
// each once; new tasks get the free slots at their provider immediately, and never more.
// Method: the compiled program, with leases and recovery passes of an hour, is killed in the middle of its runs and
// started again; they can end only because the lease of another boot is void. A provider outside the program counts its
// tasks.
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openProgram } from '../../apps/wiring/open-program.js';
import type { Generation } from '../../core/generation/generation.js';
import { ROOT } from '../docs/pages.js';
import { LAST_PAIR } from '../harness/store-pairs.js';
import { ReplicateFake } from '../providers/fakes/replicate-fake.js';
import { freshDatabase } from '../servers/fresh-places.js';
import { mongoServer, orSkip } from '../servers/servers.js';
import { EMBEDDED, type Lane } from './lanes.js';
import { LiveService, type Tenant } from './live-service.js';

const RUNNING = 6;
const HOUR_MS = 3_600_000;

describe('a service killed while generations run', () => {
  let service: LiveService;
  let tenant: Tenant;

  beforeEach(async () => {
    service = await LiveService.start({
      config: { settings: { lease_seconds: 3_600 }, worker: { recovery_interval_seconds: 3_600 } },
    });
    tenant = await service.tenant(100);
  });
  afterEach(() => service.remove());

  function stored(): Promise<readonly Generation[]> {
    return service.tool(
      async ({ context }) =>
        (await context.generations.list({ of: 'account', accountId: tenant.accountId }, { limit: 100 })).items,
    );
  }

  it('continues them at its next start, and ends them as usual', async () => {
    const client = service.client(tenant.secret);
    const ids: string[] = [];
    for (let made = 0; made < RUNNING; made += 1) {
      const { data } = await client.create(`k${made}`, 'sandbox-test', {
        behaviour: 'slow',
        delay_ms: 5_000,
        size: '128x128',
      });
      ids.push(data['generation_id'] as string);
    }
    let before = await stored();
    while (!before.every(({ attempt }) => attempt?.phase === 'submitted')) {
      await sleep(50);
      before = await stored();
    }
    await service.server.end('SIGKILL');
    const [left] = [await stored()];
    for (const { lease, status } of left) {
      expect(status).to.equal('running');
      expect(lease?.expiresAt, 'nobody would take it over for an hour').to.be.above(Date.now() + HOUR_MS / 2);
    }
    const bootIds = new Set(left.map(({ lease }) => lease?.bootId));
    expect([bootIds.size, bootIds.has(undefined)], 'all of one boot').to.deep.equal([1, false]);

    await service.server.start();
    for (const id of ids) expect(await client.until(id)).to.include({ status: 'succeeded', charged_credits: 1 });
    for (const { fence, attemptsMade } of await stored())
      expect([fence >= 2, attemptsMade <= 2], `fence ${fence}, ${attemptsMade} attempts`).to.deep.equal([true, true]);
    await service.tool(async ({ context }) => {
      while (((await context.accounts.read(tenant.accountId))?.holds.size ?? 0) > 0) await sleep(20);
    });
    expect(await client.balance()).to.equal(100 - RUNNING);
    const verified = await service.run('verify');
    expect(verified.code, verified.stdout + verified.stderr).to.equal(0);
  });
});

describe('a service killed while a provider has as many tasks as it may have', () => {
  const KEY = 'r8_test';
  const LIMIT = 2;
  let fake: ReplicateFake;
  let service: LiveService;

  before(async () => {
    fake = await ReplicateFake.open(KEY);
    fake.ending = { ends: 'never' };
    const replicate = { kind: 'replicate', base_url: fake.base, api_key: KEY, max_concurrent: LIMIT };
    service = await LiveService.start({
      config: { providers: { replicate } },
      catalog: () => readFileSync(join(ROOT, 'config/providers/replicate.catalog.yaml'), 'utf8'),
    });
  });
  after(async () => {
    await service?.remove();
    await fake?.close();
  });

  const running = () => fake.predictions.filter(({ status }) => status === 'starting' || status === 'processing');

  /** Waits until so many tasks were submitted in all; no task ends meanwhile, unless the test ends it. */
  async function untilSubmitted(count: number): Promise<void> {
    while (fake.predictions.length < count) await sleep(20);
    expect(running().length, 'tasks at the provider').to.be.at.most(LIMIT);
  }

  /** Waits until all tasks of these that may be at the provider are on record with their references. */
  async function untilKnown(ids: readonly string[]): Promise<void> {
    const known = () =>
      service.tool(async ({ context }) => {
        const records = await Promise.all(ids.map((id) => context.generations.read(id)));
        return records.filter((one) => one?.kind === 'generation' && one.attempt?.reference !== undefined).length;
      });
    while ((await known()) < LIMIT) await sleep(50);
  }

  function endOne(): void {
    const [first] = running();
    if (first !== undefined) Object.assign(first, { status: 'processing', ending: { ends: 'succeeded' } });
  }

  it('submits a new task at its next start as soon as one has ended, and none before', async function run() {
    // A share of the killed process would be kept for about two minutes.
    this.timeout(90_000);
    const { secret } = await service.tenant(1_000);
    const client = service.client(secret);
    const ids: string[] = [];
    for (let made = 0; made < 3 * LIMIT; made += 1)
      ids.push((await client.create(`k${made}`, 'flux-schnell', {})).data['generation_id'] as string);
    await untilSubmitted(LIMIT);
    await untilKnown(ids);
    await service.server.end('SIGKILL');
    await service.server.start();
    await sleep(5_000);
    expect(fake.predictions, 'the provider is full').to.have.length(LIMIT);
    for (let submitted = LIMIT + 1; submitted <= ids.length; submitted += 1) {
      endOne();
      await untilSubmitted(submitted);
    }
    while (running().length > 0) {
      endOne();
      await sleep(50);
    }
    for (const id of ids) expect((await client.until(id))['status']).to.equal('succeeded');
    expect(fake.predictions, 'each is submitted once').to.have.length(ids.length);
  });

  it('submits a new task immediately where one has ended while nothing ran', async function run() {
    this.timeout(90_000);
    const { secret } = await service.tenant(1_000);
    const client = service.client(secret);
    const before = fake.predictions.length;
    const ids: string[] = [];
    for (let made = 0; made < LIMIT + 1; made += 1)
      ids.push((await client.create(`l${made}`, 'flux-schnell', {})).data['generation_id'] as string);
    await untilSubmitted(before + LIMIT);
    await untilKnown(ids);
    await service.server.end('SIGKILL');
    endOne();
    await service.server.start();
    await untilSubmitted(before + LIMIT + 1);
    while (running().length > 0) {
      endOne();
      await sleep(50);
    }
    for (const id of ids) expect((await client.until(id))['status']).to.equal('succeeded');
  });
});

const MONGO_AND_FILES: Lane = {
  name: 'MongoDB, files and timers',
  reportsChanges: false,
  async open(suite) {
    const place = freshDatabase(await orSkip(suite, mongoServer(LAST_PAIR.mongo)));
    return {
      config: {
        stores: { database: 'mongo', objects: 'files', wake_ups: 'timers' },
        mongo: { url: place.url, database: place.database },
      },
      remove: () => place.drop(),
    };
  },
};

/** The lock on a folder of objects says nothing about the database beside it. */
const IS_EXCLUSIVE: readonly (readonly [Lane, boolean])[] = [
  [EMBEDDED, true],
  [MONGO_AND_FILES, false],
];

describe('whether a process has exclusive stores', () => {
  for (const [lane, isExclusive] of IS_EXCLUSIVE) {
    it(`is ${isExclusive ? 'known to a server' : 'never known'} over ${lane.name}, and never to a tool`, async function ask() {
      const service = await LiveService.prepare({ lane: await lane.open(this) });
      try {
        const server = await openProgram(service.config, 'server');
        expect(server.context.boot.isExclusive).to.equal(isExclusive);
        await server.close();
        expect(await service.tool(({ context }) => Promise.resolve(context.boot.isExclusive))).to.equal(false);
      } finally {
        await service.remove();
      }
    });
  }
});
