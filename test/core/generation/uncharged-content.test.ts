import { expect } from 'chai';
import fc from 'fast-check';
import { type ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import { contentBytes } from '../../../core/generation/decide.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { MAX_REQUEST_BYTES } from '../../../core/generation/generation.js';
import { settleGeneration } from '../../../core/generation/settle-generation.js';
import { utf8ByteLength } from '../../../core/json.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { recoverAll } from '../../fixtures/recovery-passes.js';
import { CoreHarness, CoreWorker, cutting, untilSettled, expectCode } from '../../harness/core-harness.js';
import { commandOf, decideAt, generationIn, queued } from './generations.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: the content of a generation that was not charged is kept for a short time only, and is bounded per account.
// Method: the clock is moved to just before and just after the limits, with a pass of recovery at each; the bound is
// filled.

const HOUR_MS = 3_600_000;
const MIN_BYTES = 2_048;

async function passes(harness: CoreHarness, count = 2): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) await harness.clock.run(new Recovery(harness.context).pass());
}

async function cancelled(harness: CoreHarness, prompt = 'A house by the sea'): Promise<string> {
  const { generation } = await harness.post(harness.ports.ids.uuid(), harness.body({}, { prompt }));
  await harness.cancel(generation.generationId);
  return generation.generationId;
}

describe('the content of a generation that ended without charge', () => {
  it('is kept for a day, then removed; what clients see stays until the retention of tasks', async () => {
    const harness = await CoreHarness.open();
    const generationId = await cancelled(harness);
    const before = await harness.generation(generationId);
    expect(before.dueAt, 'recovery looks when it is due').to.equal(
      (before.completedAt ?? 0) + harness.settings.unchargedContentRetentionMs,
    );
    harness.clock.jump(harness.settings.unchargedContentRetentionMs - 1);
    await passes(harness);
    expect(await harness.generation(generationId)).to.deep.equal(before);
    harness.clock.jump(1);
    await passes(harness);
    const { prompt, parameters, references, contentRemovedAt, unchargedBytes, version, dueAt, ...rest } =
      await harness.generation(generationId);
    expect({ prompt, parameters, references, unchargedBytes }).to.deep.equal({
      prompt: '',
      parameters: {},
      references: [],
      unchargedBytes: undefined,
    });
    expect([contentRemovedAt, version, dueAt]).to.deep.equal([
      harness.clock.now(),
      before.version + 1,
      (before.completedAt ?? 0) + harness.settings.taskRetentionMs,
    ]);
    expect(before).to.deep.include(rest);
    harness.clock.jump(harness.settings.taskRetentionMs);
    await passes(harness);
    expect(await harness.ports.generations.read(generationId)).to.include({ kind: 'expired' });
  });

  it('is removed before the outputs, which a failure may have left, and those at their time', async () => {
    const harness = await CoreHarness.open();
    harness.provider.newReport = () => ({
      state: 'failed',
      failure: { code: 'PROVIDER_REJECTED', message: 'No.', mayRetry: false },
    });
    await CoreWorker.start(harness);
    const { generationId } = await harness.create({}, harness.caller);
    const { status, completedAt = 0, attemptsMade } = await untilSettled(harness, generationId);
    expect([status, attemptsMade > 0]).to.deep.equal(['failed', true]);
    harness.clock.jump(completedAt + harness.settings.unchargedContentRetentionMs - harness.clock.now());
    await passes(harness);
    const without = await harness.generation(generationId);
    expect([without.prompt, without.outputsRemovedAt, without.dueAt]).to.deep.equal([
      '',
      undefined,
      completedAt + harness.settings.outputRetentionMs,
    ]);
    harness.clock.jump(harness.settings.outputRetentionMs);
    await passes(harness);
    expect((await harness.generation(generationId)).outputsRemovedAt).to.equal(harness.clock.now());
  });

  it('is kept with the task when something was charged', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness);
    const { generationId } = await harness.create();
    const { chargedCredits } = await untilSettled(harness, generationId);
    expect(chargedCredits).to.be.above(0);
    expect(await harness.ports.generations.stored(harness.caller.accountId, 'uncharged')).to.deep.equal({
      generations: 0,
      bytes: 0,
    });
    harness.clock.jump(harness.settings.taskRetentionMs - HOUR_MS);
    await passes(harness);
    expect((await harness.generation(generationId)).prompt).to.equal('A house by the sea');
  });

  it('is counted for its account from the end until it is removed, and at least as much as a record takes', async () => {
    const harness = await CoreHarness.open();
    const { generation } = await harness.post('k', harness.body({}, { prompt: 'ü'.repeat(5_000) }));
    const kept = () => harness.ports.generations.stored(harness.caller.accountId, 'uncharged');
    expect(await kept(), 'nothing while it is open').to.deep.equal({ generations: 0, bytes: 0 });
    await harness.cancel(generation.generationId);
    await cancelled(harness, 'short');
    const { prompt, parameters, references } = generation;
    const bytes = Buffer.byteLength(JSON.stringify([prompt, undefined, parameters, references]));
    expect(bytes).to.be.within(10_000, 10_200);
    expect(await kept()).to.deep.equal({ generations: 2, bytes: bytes + MIN_BYTES });
    harness.clock.jump(harness.settings.unchargedContentRetentionMs);
    await passes(harness);
    expect(await kept()).to.deep.equal({ generations: 0, bytes: 0 });
  });

  it('is bounded: more is refused with QUEUE_FULL before any credits are checked, and the key is freed', async () => {
    const harness = await CoreHarness.open({
      credits: 10,
      settings: { maxUnchargedContentBytesPerAccount: 2 * MIN_BYTES },
    });
    await cancelled(harness);
    await cancelled(harness);
    const create = (key: string, count = 1) => harness.post(key, harness.body({ count }));
    const refusal = await create('k').then(
      () => null,
      (error: unknown) => error as ServiceError,
    );
    expect([refusal?.code, refusal?.details]).to.deep.equal([
      'QUEUE_FULL',
      { retryAfterMs: 60_000, bound: 'uncharged_content_bytes' },
    ]);
    expect(refusal?.message).to.equal(
      'The content that the account stores of generations that ended without charge counts 4096 bytes, and may count 4096; that of each counts for 24 hours after its end.',
    );
    await expectCode('QUEUE_FULL', create('k', 3), 'though there are not as many credits');
    await expectCode('FIELD_INVALID', harness.post('k', harness.body({ count: 99 })));
    expect(await harness.account()).to.include({ available: 10, reserved: 0 });
    expect(await estimateGeneration(harness.context, harness.caller, harness.body())).to.include({
      estimatedCredits: 10,
    });
    harness.clock.jump(harness.settings.unchargedContentRetentionMs);
    await passes(harness);
    expect((await create('k')).replayed).to.equal(false);
  });

  it('is summed once a second far from its bound, and for every create near it', async () => {
    const largest = 6 * MAX_REQUEST_BYTES;
    const harness = await CoreHarness.open({
      credits: 1_000_000,
      settings: { maxUnchargedContentBytesPerAccount: 8 * largest },
    });
    let sums = 0;
    const context = harness.process((call) => {
      if (call.name === 'generations.stored') sums += 1;
      return call.proceed();
    });
    let made = 0;
    const create = async (count: number, body = harness.body()) => {
      sums = 0;
      for (let one = 0; one < count; one += 1) await harness.post(`k${(made += 1)}`, body, { context });
      return sums;
    };
    expect(await create(8), 'as many as surely fit').to.equal(1);
    expect(await create(1), 'one more').to.equal(1);
    harness.clock.jump(1_000);
    expect(await create(3), 'a second later').to.equal(1);
    harness.clock.jump(-10);
    expect(await create(1), 'by a clock that was set back').to.equal(1);
    for (let one = 0; one < 720; one += 1) await cancelled(harness, 'ü'.repeat(8_000));
    harness.clock.jump(1_000);
    const { bytes } = await harness.ports.generations.stored(harness.caller.accountId, 'uncharged');
    expect(bytes, 'less than one of the largest below the bound').to.be.within(7 * largest, 8 * largest);
    expect(await create(4), 'near its bound').to.equal(4);
  });

  it('does not block replays of earlier keys of a full account', async () => {
    const harness = await CoreHarness.open({ settings: { maxUnchargedContentBytesPerAccount: 1 } });
    const first = await harness.post('k');
    await harness.cancel(first.generation.generationId);
    const again = await harness.post('k');
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, first.generation.generationId]);
    await expectCode(
      'OK',
      harness.post('k', harness.body(), { caller: await harness.newCaller(10) }),
      'another account',
    );
  });

  it('frees the key when the store cannot compute the sum', async () => {
    const harness = await CoreHarness.open();
    const away = harness.process((call) =>
      call.name === 'generations.stored' ? Promise.reject(new StoreUnavailable('The line broke.')) : call.proceed(),
    );
    const failed: unknown = await harness.post('k', harness.body(), { context: away }).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(StoreUnavailable);
    expect((await harness.post('k')).replayed).to.equal(false);
    expect((await harness.account()).holds.size).to.equal(1);
  });
});

describe('the removal of content', () => {
  it('is refused before the settlement, a second time, and where something was charged', () => {
    const command = commandOf('content-removed');
    const g = generationIn('cancelled', 'content-removed');
    const { settledAt: _settledAt, ...unsettled } = g;
    expect(decideAt(unsettled, command, 2_000)).to.deep.equal({ refused: 'NOT_ALLOWED' });
    expect(decideAt({ ...g, contentRemovedAt: 1_900 }, command, 2_000)).to.deep.equal({ refused: 'NOTHING_TO_DO' });
    expect(decideAt({ ...generationIn('succeeded', 'settle'), settledAt: 1_600 }, command, 2_000)).to.deep.equal({
      refused: 'NOT_ALLOWED',
    });
  });

  it('makes recovery examine the generation again when the next part is due', () => {
    const g = generationIn('failed', 'content-removed');
    expect(decideAt(g, commandOf('content-removed'), 70_000)).to.have.nested.property('next.dueAt', 100_000);
    expect(decideAt({ ...g, outputsRemovedAt: 1_900 }, commandOf('content-removed'), 70_000)).to.have.nested.property(
      'next.dueAt',
      200_000,
    );
    expect(decideAt(generationIn('failed', 'settle'), commandOf('settle'), 2_000)).to.have.nested.property(
      'next.dueAt',
      60_000,
    );
    expect(decideAt(generationIn('succeeded', 'settle'), commandOf('settle'), 2_000)).to.have.nested.property(
      'next.dueAt',
      100_000,
    );
  });
});

describe('the bytes of content', () => {
  it('are those of its JSON in UTF-8, and never fewer than a record takes', () => {
    forAllSync(
      100,
      [
        fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.repeat(30)),
        fc.option(fc.string(), { nil: undefined }),
      ],
      (prompt, negativePrompt) => {
        const g = queued({
          prompt,
          parameters: { a: prompt },
          ...(negativePrompt === undefined ? {} : { negativePrompt }),
        });
        const written = Buffer.byteLength(JSON.stringify([prompt, negativePrompt, { a: prompt }, []]));
        expect(contentBytes(g)).to.equal(Math.max(MIN_BYTES, written));
      },
    );
  });

  it('count any text as UTF-8 encodes it, lone surrogates too', () => {
    forAllSync(100, [fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 50 })], (units) => {
      const text = String.fromCharCode(...units);
      expect(utf8ByteLength(text)).to.equal(Buffer.byteLength(text));
    });
    forAllSync(100, [fc.array(fc.integer({ min: 0xd700, max: 0xe0ff }), { maxLength: 20 })], (units) => {
      const text = String.fromCharCode(...units);
      expect(utf8ByteLength(text)).to.equal(Buffer.byteLength(text));
    });
  });
});

// Goal: each end of a generation is logged once, with ids and numbers only.
// Method: every way to end, and processes that are interrupted at each store call of a settlement or settle
// concurrently; log lines are counted against the generations.

const endsOf = ({ notices }: CoreHarness) =>
  notices.filter(({ event }) => event === 'generation ended').map(({ about }) => about);

describe('the end of a generation', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('is logged with its outcome and its cost, and without its content', async () => {
    await CoreWorker.start(harness);
    const done = await untilSettled(harness, (await harness.create({ count: 3 })).generationId);
    harness.provider.newReport = () => ({
      state: 'failed',
      failure: { code: 'PROVIDER_REJECTED', message: 'No.', mayRetry: false },
    });
    const failed = await untilSettled(harness, (await harness.create()).generationId);
    const [first, second] = endsOf(harness);
    const { accountId } = harness.caller;
    expect(first).to.deep.equal({
      generationId: done.generationId,
      accountId,
      modelKey: 'plain-image',
      status: 'succeeded',
      chargedCredits: 30,
      attempts: 1,
      durationMs: (done.completedAt ?? 0) - done.createdAt,
    });
    expect(second).to.include({
      generationId: failed.generationId,
      status: 'failed',
      code: failed.error?.code,
      chargedCredits: 0,
    });
    expect(endsOf(harness)).to.have.length(2);
    expect(JSON.stringify(harness.notices)).to.not.include(harness.body()['prompt']);
  });

  it('is logged once when several processes settle at the same time', async () => {
    const processes = [harness.process(), harness.process(), harness.process()];
    const { generationId } = await harness.create();
    await cancelGeneration(harness.process(cutting(2, 'after', { dies: true })), harness.caller, generationId).catch(
      () => undefined,
    );
    const ended = await harness.generation(generationId);
    expect([ended.status, ended.settledAt, endsOf(harness).length]).to.deep.equal(['cancelled', undefined, 0]);
    await Promise.all(processes.map((process) => settleGeneration(process, ended)));
    expect(endsOf(harness).map((about) => [about['generationId'], about['status']])).to.deep.equal([
      [generationId, 'cancelled'],
    ]);
  });

  it('is logged once wherever a cancellation is interrupted, unless the answer to its very last write was lost', async () => {
    const names: string[] = [];
    const { generationId } = await harness.create();
    await cancelGeneration(
      harness.process(cutting(Infinity, 'before', { dies: false, names })),
      harness.caller,
      generationId,
    );
    const last = names.lastIndexOf('generations.replace');
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < names.length; index += 1) {
        const other = await CoreHarness.open();
        const g = await other.create();
        await cancelGeneration(other.process(cutting(index, cut, { dies: true })), other.caller, g.generationId).catch(
          () => undefined,
        );
        await recoverAll(other);
        // If it was interrupted before anything was written, it is still queued.
        const isEnded = (await other.generation(g.generationId)).settledAt !== undefined;
        expect(endsOf(other).length, `${cut} ${names[index]}`).to.equal(
          isEnded && !(cut === 'after' && index === last) ? 1 : 0,
        );
      }
    }
  });
});
