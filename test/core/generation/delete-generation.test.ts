import { expect } from 'chai';
import fc from 'fast-check';
import { verifyCredits } from '../../../core/credits/verify.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { cancelAnyGeneration, deleteGeneration } from '../../../core/generation/end-generation.js';
import { type Generation, type GenerationStatus, STATUSES } from '../../../core/generation/generation.js';
import {
  findGeneration,
  type GenerationFilter,
  getGeneration,
  listGenerations,
  searchGenerations,
} from '../../../core/generation/read-generations.js';
import { changeGeneration, settleGeneration } from '../../../core/generation/settle-generation.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { allPages } from '../../contracts/versioned-records.js';
import { streamOf } from '../../fixtures/byte-streams.js';
import type { PortCall } from '../../fixtures/intercepted.js';
import { expectBooksRight } from '../../fixtures/ledgers.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { aGeneration, aTombstone, uuidAt } from '../../fixtures/stored-records.js';
import { CoreHarness, CoreWorker, untilEnded, untilSettled, expectCode } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a deletion removes all content and changes no credits, completes wherever it was interrupted, and hides content
// as soon as its deletion starts.
// Method: core on memory adapters; calls fail or are cut at each step, outputs are written late, recovery passes.

const DAY_MS = 86_400_000;

describe('deleting a generation', () => {
  let harness: CoreHarness;

  beforeEach(async () => {
    harness = await CoreHarness.open({ credits: 100 });
  });
  afterEach(async () => expectBooksRight(await harness.account(), await harness.entries()));

  async function succeeded(): Promise<Generation> {
    await CoreWorker.start(harness);
    return untilSettled(harness, (await harness.create()).generationId);
  }
  const remove = (id: string, context = harness.context) => deleteGeneration(context, harness.caller, id);
  const look = (id: string) => codeOf(getGeneration(harness.context, harness.caller, id));
  const listed = async () => (await listGenerations(harness.context, harness.caller, {}, { limit: 9 })).items;
  const outputsOf = async ({ outputs }: Generation) =>
    (await Promise.all(outputs.map(({ objectKey }) => harness.ports.objects.stat(objectKey)))).filter(
      (stat) => stat !== null,
    );
  const recover = () => harness.clock.run(new Recovery(harness.process()).pass());

  it('removes its outputs and its record, and leaves what was charged', async () => {
    const g = await succeeded();
    expect(await outputsOf(g))
      .to.have.length(g.outputs.length)
      .and.not.have.length(0);
    const before = await harness.entries();
    await remove(g.generationId.toUpperCase());
    expect(await outputsOf(g)).to.deep.equal([]);
    const record = await harness.ports.generations.read(g.generationId);
    expect(record).to.include({ kind: 'expired' }).and.not.have.any.keys('prompt', 'parameters', 'clientTraceId');
    expect(await harness.entries()).to.deep.equal(before);
    expect((await harness.account()).spent)
      .to.equal(g.chargedCredits)
      .and.above(0);
    expect(await look(g.generationId)).to.equal('GENERATION_JOB_NOT_FOUND');
    await expectCode('GENERATION_JOB_NOT_FOUND', remove(g.generationId));
    expect(await listed()).to.deep.equal([]);
  });

  it('is refused before the end, and to everybody else', async () => {
    const { generationId } = await harness.create();
    await expectCode('CONFLICT', remove(generationId));
    const other = await harness.newCaller(0);
    await expectCode('TASK_NOT_FOUND', deleteGeneration(harness.context, other, generationId));
    await expectCode('TASK_NOT_FOUND', remove('no-id'));
    await harness.cancel(generationId);
    await remove(generationId);
    expect(await look(generationId)).to.equal('GENERATION_JOB_NOT_FOUND');
  });

  it('charges first what has ended and is not settled', async () => {
    await CoreWorker.start(harness, 'worker', async (call) => {
      if (call.name === 'accounts.apply') throw new StoreUnavailable('The line broke.');
      return call.proceed();
    });
    const g = await untilEnded(harness, (await harness.create()).generationId);
    expect(g.settledAt).to.equal(undefined);
    const cut = harness.process(async (call) => {
      if (call.name === 'accounts.apply') throw new StoreUnavailable('The line broke.');
      return call.proceed();
    });
    await remove(g.generationId, cut).catch((error: unknown) => expect(error).to.be.instanceOf(StoreUnavailable));
    expect(await look(g.generationId)).to.equal('OK');
    await remove(g.generationId);
    expect((await harness.account()).spent)
      .to.equal(g.chargedCredits)
      .and.above(0);
    expect(await outputsOf(g)).to.deep.equal([]);
  });

  /** The calls that a deletion of a settled generation makes on the stores, in order. */
  async function callsOfOne(): Promise<string[]> {
    const g = await succeeded();
    const calls: string[] = [];
    await remove(
      g.generationId,
      harness.process((call) => {
        calls.push(call.name);
        return call.proceed();
      }),
    );
    harness = await CoreHarness.open({ credits: 100 });
    return calls;
  }

  it('hides the generation once it has started, and is completed by a retry or by recovery, wherever it is cut', async () => {
    const calls = await callsOfOne();
    expect(calls).to.include.members(['generations.replace', 'objects.remove']);
    for (const how of ['repetition', 'recovery'] as const)
      for (let cutAt = 0; cutAt < calls.length; cutAt += 1) {
        harness = await CoreHarness.open({ credits: 100 });
        const g = await succeeded();
        let made = 0;
        const dying = harness.process((call: PortCall) => {
          made += 1;
          return made > cutAt ? Promise.reject(new StoreUnavailable('The process died.')) : call.proceed();
        });
        await remove(g.generationId, dying).catch(() => undefined);
        const record = await harness.ports.generations.read(g.generationId);
        const where = `${how}, cut before call ${cutAt}: ${calls[cutAt]}`;
        const hasBegun = record?.kind !== 'generation' || record.deletedAt !== undefined;
        if (hasBegun) {
          expect(await look(g.generationId), where).to.equal('GENERATION_JOB_NOT_FOUND');
          expect(await listed(), where).to.deep.equal([]);
          if (record?.kind === 'generation') expect(record, where).to.include({ prompt: '' });
        }
        if (how === 'repetition') await remove(g.generationId).catch(() => undefined);
        else {
          await harness.clock.advance(harness.settings.recoveryGraceMs + 2_000);
          await recover();
          if (!hasBegun) continue;
        }
        expect(await outputsOf(g), where).to.deep.equal([]);
        expect(await harness.ports.generations.read(g.generationId), where).to.include({ kind: 'expired' });
      }
  });

  it('answers a repeated create neither with the old generation nor with a new one', async () => {
    await CoreWorker.start(harness);
    const create = () => harness.post('key');
    const { generation } = await create();
    await untilSettled(harness, generation.generationId);
    const broken = harness.process((call) => {
      if (call.name === 'objects.remove') throw new StoreUnavailable('The line broke.');
      return call.proceed();
    });
    await remove(generation.generationId, broken).catch(() => undefined);
    await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', create());
    await remove(generation.generationId);
    await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', create());
    expect(await harness.generations()).to.deep.equal([]);
  });

  it('removes what a worker wrote late, a day later, and keeps the id taken as long as any', async () => {
    const g = await succeeded();
    const key = g.outputs[0]?.objectKey ?? '';
    await remove(g.generationId);
    await harness.ports.objects.write(key, streamOf(new Uint8Array(9)), { mediaType: 'image/png', maxBytes: 9 });
    expect(await outputsOf(g)).to.have.length(1);
    await harness.clock.advance(DAY_MS);
    await recover();
    expect(await outputsOf(g)).to.deep.equal([]);
    expect(await look(g.generationId)).to.equal('GENERATION_JOB_NOT_FOUND');
    harness.clock.jump(harness.settings.tombstoneRetentionMs - 1_000);
    await recover();
    await recover();
    expect(await look(g.generationId)).to.equal('GENERATION_JOB_NOT_FOUND');
    harness.clock.jump(2_000);
    await recover();
    await recover();
    expect(await look(g.generationId)).to.equal('TASK_NOT_FOUND');
  });

  it('of one without charge keeps counting for its account, and its record is removed afterwards', async () => {
    const bound = 3 * 2_048;
    harness = await CoreHarness.open({ credits: 100 });
    const { unchargedContentRetentionMs } = harness.settings;
    const ids: string[] = [];
    const createAndDelete = async () => {
      const { generationId } = await harness.create();
      await harness.cancel(generationId);
      await remove(generationId);
      ids.push(generationId);
    };
    for (let made = 0; made < 3; made += 1) await createAndDelete();
    const { accountId } = harness.caller;
    expect(await harness.ports.generations.stored(accountId, 'uncharged')).to.deep.equal({
      generations: 3,
      bytes: bound,
    });
    expect(await listed()).to.deep.equal([]);
    for (const id of ids) {
      expect(await look(id)).to.equal('GENERATION_JOB_NOT_FOUND');
      expect(await harness.ports.generations.read(id)).to.include({ prompt: '' });
    }
    await remove(ids[0] ?? '');
    harness.clock.jump(unchargedContentRetentionMs + 1_000);
    await recover();
    await recover();
    expect(await harness.ports.generations.stored(accountId, 'uncharged')).to.deep.equal({ generations: 0, bytes: 0 });
    for (const id of ids) expect(await harness.ports.generations.read(id)).to.include({ kind: 'expired' });
  });

  it('does not disturb a settlement in another process', async () => {
    const g = await (async () => {
      const { generationId } = await harness.create();
      await harness.cancel(generationId);
      return harness.generation(generationId);
    })();
    const { settledAt: _, ...unsettled } = g;
    await remove(g.generationId);
    harness.clock.jump(harness.settings.unchargedContentRetentionMs + 1_000);
    await recover();
    expect(await settleGeneration(harness.context, unsettled)).to.equal(unsettled);
  });

  it('is one deletion, however many ask for it at the same time', async () => {
    const g = await succeeded();
    const other = harness.process();
    const codes = await harness.clock.run(
      Promise.all([harness.context, other, harness.context].map((context) => codeOf(remove(g.generationId, context)))),
    );
    expect(new Set(codes)).to.satisfy((all: Set<string>) =>
      [...all].every((code) => code === 'OK' || code === 'GENERATION_JOB_NOT_FOUND'),
    );
    expect(codes).to.include('OK');
    expect(await outputsOf(g)).to.deep.equal([]);
    expect(harness.notices.filter(({ event }) => event === 'generation deleted')).to.have.length(1);
  });
});

// Goal: an operator finds, reads and cancels the generations of any account; results are complete, and a cancel follows
// the rules of a client's cancel.
// Method: use cases on the memory stores, compared with a filtered array; store reads are counted.

/** An App is of one account. */
const appOf = (account: number, app: number) => uuidAt(200 + 10 * account + app);

describe('searchGenerations', () => {
  it('finds what a filtered array has, newest first, in full pages of any size', async () => {
    const record = fc.record({
      account: fc.nat({ max: 2 }),
      app: fc.nat({ max: 1 }),
      status: fc.constantFrom(...STATUSES),
    });
    const asked = fc.record({
      account: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
      app: fc.option(fc.nat({ max: 1 }), { nil: undefined }),
      statuses: fc.option(fc.subarray([...STATUSES]), { nil: undefined }),
      limit: fc.integer({ min: 1, max: 9 }),
    });
    await forAll(
      200,
      [fc.array(record, { maxLength: 40 }), asked],
      async (records, { account, app, statuses, limit }) => {
        const harness = await CoreHarness.open();
        const all = records.map((one, n) =>
          aGeneration(n, {
            accountId: uuidAt(100 + one.account),
            appId: appOf(one.account, one.app),
            status: one.status,
          }),
        );
        for (const generation of all) await harness.ports.generations.insert(generation);
        const of: GenerationFilter =
          account === undefined
            ? {}
            : { accountId: uuidAt(100 + account), ...(app === undefined ? {} : { appId: appOf(account, app) }) };
        const found = await allPages(async (page) => {
          const answer = await searchGenerations(
            harness.context,
            { ...of, ...(statuses === undefined ? {} : { statuses }) },
            page,
          );
          expect(answer.items.length).to.be.at.most(limit);
          return answer;
        }, limit);
        const wanted = all
          .toReversed()
          .filter(
            (g) =>
              (of.accountId ?? g.accountId) === g.accountId &&
              (of.appId ?? g.appId) === g.appId &&
              (statuses ?? STATUSES).includes(g.status),
          );
        expect(found).to.deep.equal(wanted);
      },
    );
  });

  it('reads a bounded part of the store for a page, and continues after it', async () => {
    const harness = await CoreHarness.open();
    for (let n = 0; n < 150; n += 1)
      await harness.ports.generations.insert(aGeneration(n, { status: n === 0 ? 'failed' : 'succeeded' }));
    let reads = 0;
    const counting = harness.process((call) => {
      if (call.name === 'generations.list') reads += 1;
      return call.proceed();
    });
    const statuses: GenerationStatus[] = ['failed'];
    const first = await searchGenerations(counting, { statuses }, { limit: 1 });
    expect([reads, first.items]).to.deep.equal([100, []]);
    const second = await searchGenerations(counting, { statuses }, { limit: 1, cursor: first.nextCursor as string });
    expect(second.items.map(({ generationId }) => generationId)).to.deep.equal([uuidAt(0)]);
  });
});

describe('findGeneration and cancelAnyGeneration', () => {
  it('answer not found for a missing, precluded or expired generation', async () => {
    const harness = await CoreHarness.open();
    await harness.ports.generations.insert(aTombstone(1));
    await harness.ports.generations.insert(aTombstone(2, { kind: 'expired' }));
    for (const id of [uuidAt(1), uuidAt(2), uuidAt(3)]) {
      await expectCode('NOT_FOUND', findGeneration(harness.context, id), id);
      await expectCode('NOT_FOUND', cancelAnyGeneration(harness.context, id), id);
    }
  });

  it('end a queued one with its hold, ask a running one to stop, and leave an ended one, for any owner', async () => {
    const harness = await CoreHarness.open();
    const other = await harness.newCaller(100);
    const [queued, running, ended] = [
      await harness.create({}, other),
      await harness.create({}, other),
      await harness.create(),
    ];
    await changeGeneration(harness.context, running, {
      event: 'start',
      worker: 'w',
      token: 't',
      provider: 'scripted',
      leaseMs: 60_000,
    });
    await cancelAnyGeneration(harness.context, ended.generationId);
    const before = await findGeneration(harness.context, ended.generationId);
    expect(await cancelAnyGeneration(harness.context, queued.generationId)).to.include({
      status: 'cancelled',
      chargedCredits: 0,
    });
    expect(await cancelAnyGeneration(harness.context, running.generationId)).to.include({
      status: 'running',
      cancelRequestedAt: harness.clock.now(),
    });
    expect(await cancelAnyGeneration(harness.context, ended.generationId)).to.deep.equal(before);
    expect((await harness.account(other.accountId)).holds.size).to.equal(1);
    expect((await verifyCredits(harness.context)).findings).to.deep.equal([]);
  });
});
