/**
 * Goal: this build reads, serves and verifies the data written by the previous release, on every set of stores; and
 * where stores are shared, the older processes can be started again.
 * Method: the compiled program of the release before works for a client until generations are in every state, and is
 * killed. This build's program starts over the same data; its answers are compared with those of the other one.
 * Recovery passes of the server are an hour apart, and generations that the older build accepts are due for recovery
 * after an hour, so that queued generations are started without it: over a data folder by the start, and otherwise by the
 * wake-ups of the older build. A command's recovery passes take over running ones.
 */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Generation, isTerminal } from '../../core/generation/generation.js';
import { allPages } from '../contracts/versioned-records.js';
import { sizeOf } from '../harness/run-sizes.js';
import { orSkip } from '../servers/servers.js';
import { EMBEDDED, type Lane, ON_MONGO } from '../service/lanes.js';
import { type Client, LiveService } from '../service/live-service.js';
import { HAD_ATTRIBUTIONS, RELEASE_AFTER, releaseBefore } from './release-before.js';
import {
  addressesOf,
  catalogBefore,
  digestAt,
  type Ended,
  ends,
  GRANTED,
  ledgerOf,
  make,
  replay,
  withoutAddresses,
  workBefore,
  type WorkBefore,
} from './work-before.js';

const CONFIG = {
  settings: { lease_seconds: 5, cancel_grace_seconds: 5, poll_after_ms: 100 },
  worker: { recovery_interval_seconds: 3_600 },
};
const LANES: readonly Lane[] = [EMBEDDED, ...ON_MONGO].slice(0, sizeOf('upgradedLanes'));

for (const lane of LANES)
  describe(`an upgrade from the release before, over ${lane.name}`, function suite() {
    // The first run on a machine builds that release.
    this.timeout(900_000);
    upgraded(lane, lane !== EMBEDDED);
  });

function upgraded(lane: Lane, isShared: boolean): void {
  let older: string;
  let service: LiveService | undefined;
  let work: WorkBefore;
  let client: Client;
  /** The generations that have ended since the start, under either build. */
  const ended: Ended[] = [];

  const atKill = { queued: new Set<string>(), running: new Set<string>() };

  const running = (): LiveService => service as LiveService;

  /** Kills the process and starts the program of a build over the same data. */
  async function exchangeFor(program: string): Promise<void> {
    await running().server.end('SIGKILL');
    running().server.program = program;
    await running().server.start();
  }

  before(async function workAndKill() {
    older = await orSkip(this, releaseBefore());
    const open = await lane.open(this);
    service = await LiveService.prepare({
      config: CONFIG,
      catalog: catalogBefore,
      ...(isShared ? { lane: open } : {}),
      program: older,
    });
    service.server.environment = { DARKROOM_SETTINGS_RECOVERY_GRACE_SECONDS: '3600' };
    await service.server.start();
    service.server.environment = {};
    work = await workBefore(service);
    client = service.client(work.secret);
    await service.server.end('SIGKILL');
    ended.push(...work.ended);
  });

  after(() => service?.remove());

  function stored(): Promise<readonly Generation[]> {
    return running().tool(
      async ({ context }) =>
        (await context.generations.list({ of: 'account', accountId: work.accountId }, { limit: 100 })).items,
    );
  }

  /** Runs a build's recovery command repeatedly until no generation is open. */
  async function recoverAll(program: string): Promise<void> {
    do await running().runBy(program, 'recover');
    while ((await stored()).some(({ status }) => !isTerminal(status)));
  }

  async function expectSame(): Promise<void> {
    for (const { task, outputs, replay: replayed, ...made } of ended) {
      const shown = (await client.look(made.id)).data;
      expect(withoutAddresses(shown), made.key).to.deep.equal(task);
      expect(await replay(client, made), made.key).to.deep.equal(replayed);
      const digests = outputs.map(({ sha256 }) => sha256);
      expect(await Promise.all(addressesOf(shown).map(digestAt)), made.key).to.deep.equal(digests);
      expect(
        await Promise.all(outputs.map(({ url }) => digestAt(url))),
        `${made.key}, as addressed before`,
      ).to.deep.equal(digests);
    }
  }

  async function expectVerified(): Promise<void> {
    await running().tool(async ({ context }) => {
      while (((await context.accounts.read(work.accountId))?.holds.size ?? 0) > 0) await sleep(20);
    });
    const charged = ended.reduce((sum, { task }) => sum + (task['charged_credits'] as number), 0);
    expect(await client.balance()).to.equal(GRANTED - charged);
    const { code, stdout, stderr } = await running().run('verify');
    expect(code, stdout + stderr).to.equal(0);
  }

  it(`begins with a migration, ${isShared ? 'which adds indexes' : 'without which the folder is refused'}`, async () => {
    const check = await running().run('migrate', '--check');
    expect(check.code, check.stderr).to.equal(1);
    expect((await running().run('migrate')).code).to.equal(0);
    expect((await running().run('migrate', '--check')).code).to.equal(0);
    for (const { generationId, status } of await stored())
      if (status === 'queued' || status === 'running') atKill[status].add(generationId);
    expect(atKill.queued.size, 'queued').to.be.above(0);
    expect(atKill.running.size, 'running').to.be.above(2);
    running().server.program = RELEASE_AFTER;
    await running().server.start();
  });

  it('shows, repeats and delivers everything as before', async () => {
    expect((await client.request('GET', '/models')).data).to.deep.equal(work.models);
    await expectSame();
  });

  it('lists what the release before accepted, which knew no lists of an App', async () => {
    const { data } = await client.request('GET', '/generations?limit=100');
    const listed = (data as unknown as { generations: { generation_id: string }[] }).generations;
    expect(listed.map(({ generation_id }) => generation_id)).to.have.members(
      (await stored()).map(({ generationId }) => generationId),
    );
  });

  it('refuses another request under an old key', async () => {
    const [{ key } = { key: '' }] = work.ended;
    expect(await client.create(key, 'sandbox-test', { behaviour: 'refuse' })).to.include({
      code: 'IDEMPOTENCY_PAYLOAD_MISMATCH',
    });
  });

  it('begins what was queued without recovery, and ends it', async () => {
    for (const made of work.open.filter(({ id }) => atKill.queued.has(id)))
      expect((await client.until(made.id))['status'], made.key).to.equal('succeeded');
  });

  it('takes over what was running, and ends it', async () => {
    await recoverAll(RELEASE_AFTER);
    const expected = [
      ...work.open.map((made) => [made, 'succeeded'] as const),
      [work.cancelling, 'cancelled'] as const,
    ];
    for (const [made, status] of [...expected, [work.hanging, 'failed'] as const]) {
      const end = await ends(client, made);
      expect(end.task, made.key).to.include({ status, charged_credits: status === 'succeeded' ? 1 : 0 });
      ended.push(end);
    }
  });

  it('takes the bytes of an upload that was prepared, and uses it and one that was ready', async () => {
    const { id, url, headers, bytes } = work.prepared;
    expect((await fetch(url, { method: 'PUT', headers, body: Buffer.from(bytes) })).ok).to.equal(true);
    const completed = await client.request('POST', `/uploads/${id}/complete`, { key: 'complete', body: {} });
    expect(completed.data).to.include({ status: 'ready' });
    const references = { reference_upload_ids: [id, work.readyUploadId] };
    const made = await make(client, 'referring-anew', { size: '128x128' }, references);
    ended.push(await ends(client, made));
    expect(ended.at(-1)?.task).to.include({ status: 'succeeded' });
  });

  it('continues the ledger where it was, and records from now on what credits are used for', async () => {
    const lines = await ledgerOf(running(), RELEASE_AFTER, work.accountId);
    expect(lines.slice(0, work.ledger.length)).to.deep.equal(work.ledger);
    const entries = await running().tool(({ context }) =>
      allPages((page) => context.accounts.entries(work.accountId, page), 100),
    );
    const isOld = (id: string | undefined) =>
      !HAD_ATTRIBUTIONS && ended.find((one) => one.id === id)?.key !== 'referring-anew';
    for (const { generationId, attribution, sequence } of entries)
      if (generationId === undefined || isOld(generationId))
        expect(attribution?.modelKey, `entry ${sequence}`).to.equal(undefined);
      else expect(attribution?.modelKey, `entry ${sequence}`).to.be.oneOf(['sandbox-test', 'hasty-test']);
    await expectVerified();
  });

  if (isShared) {
    it('is undone by starting the release before again, which serves what this build wrote', async () => {
      const open = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          make(client, `open-${n}`, { size: '128x128', behaviour: 'slow', delay_ms: 3_000 }),
        ),
      );
      await exchangeFor(older);
      await expectSame();
      await recoverAll(older);
      for (const made of open) {
        ended.push(await ends(client, made));
        expect(ended.at(-1)?.task, made.key).to.include({ status: 'succeeded' });
      }
      await expectVerified();
      await running().runBy(older, 'verify');
    });

    it('and may be done once more', async () => {
      await exchangeFor(RELEASE_AFTER);
      await expectSame();
      await expectVerified();
    });
  } else
    it('is final for a data folder, which the release before refuses', async () => {
      await running().server.end('SIGTERM');
      const refused = await running()
        .runBy(older, 'verify')
        .catch((error: Error) => error.message);
      expect(refused).to.match(/has schema \d+, .*; use the release that wrote it, or a later one/);
    });
}
