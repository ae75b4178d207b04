// Goal: for every answer of a provider, a generation ends correctly and is charged once, for exactly what was
// delivered.
// Method: a worker on memory adapters with a scripted provider; the books are summed separately.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import { type Generation, TASK_ERRORS, type TaskErrorCode } from '../../../../core/generation/generation.js';
import type { ProviderReport } from '../../../../core/ports/provider.js';
import { bytesOf } from '../../../fixtures/byte-streams.js';
import { expectBooksRight } from '../../../fixtures/ledgers.js';
import { plainImage, plainVideo } from '../../../fixtures/plain-media.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../../harness/core-harness.js';

async function expectCharged(harness: CoreHarness, g: Generation, credits: number): Promise<void> {
  expect(g.chargedCredits).to.equal(credits);
  const [account, entries] = [await harness.account(), await harness.entries()];
  expectBooksRight(account, entries);
  expect(account.holds.size).to.equal(0);
  const moved = (kind: string) =>
    entries
      .filter((entry) => entry.generationId === g.generationId && entry.kind === kind)
      .map((entry) => entry.credits);
  expect(moved('charge')).to.deep.equal(credits === 0 ? [] : [credits]);
  expect(
    [...moved('charge'), ...moved('release')].reduce((sum, moves) => sum + moves, 0),
    'charge + release = reserved',
  ).to.equal(g.reservedCredits);
}

async function expectFailed(harness: CoreHarness, g: Generation, code: TaskErrorCode, attempts: number): Promise<void> {
  expect([g.status, g.error?.code, g.error?.retryable, g.attemptsMade]).to.deep.equal([
    'failed',
    code,
    TASK_ERRORS[code].retryable,
    attempts,
  ]);
  await expectCharged(harness, g, 0);
}

describe('a run', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
    await CoreWorker.start(harness);
  });

  it('delivers, stores, charges and settles', async () => {
    const { generationId } = await harness.create({ count: 3 });
    const g = await untilSettled(harness, generationId);
    expect(g).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect(g.outputs).to.have.length(3);
    for (const output of g.outputs) {
      expect(output).to.include({
        kind: 'image',
        contentType: 'image/png',
        widthPx: 64,
        heightPx: 64,
        byteSize: plainImage().byteLength,
      });
      expect((await harness.ports.objects.stat(output.objectKey))?.byteSize).to.equal(output.byteSize);
    }
    await expectCharged(harness, g, 30);
  });

  it('charges what was delivered when the provider delivers less', async () => {
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    const { generationId } = await harness.create({ count: 4 });
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.outputs.length]).to.deep.equal(['succeeded', 1]);
    await expectCharged(harness, g, 10);
  });

  it('accepts no more than requested when the provider delivers more', async () => {
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(9) });
    harness.provider.newOutputs = () => Array.from({ length: 9 }, () => plainImage());
    const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
    expect(g.outputs).to.have.length(2);
    await expectCharged(harness, g, 20);
  });

  it('omits, and does not charge, outputs that differ from the request', async () => {
    harness.provider.newOutputs = () => [bytesOf('<svg/>'), plainImage(), plainVideo(64, 64, 1_000), plainImage()];
    const g = await untilSettled(harness, (await harness.create({ count: 4 })).generationId);
    expect([g.status, g.outputs.length, g.attemptsMade]).to.deep.equal(['succeeded', 2, 1]);
    await expectCharged(harness, g, 20);
  });

  it('fails without charge when no delivered output is usable, at every attempt', async () => {
    harness.provider.newOutputs = () => [bytesOf('junk')];
    await expectFailed(
      harness,
      await untilSettled(harness, (await harness.create()).generationId),
      'OUTPUT_INVALID',
      3,
    );
    expect(harness.provider.submissions).to.have.length(3);
    expect(
      harness.provider.submissions.map(({ attempt }) => attempt),
      'each is told which attempt it is',
    ).to.deep.equal([1, 2, 3]);
  });

  it('fails without charge when a success has no outputs at all', async () => {
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: [] });
    await expectFailed(
      harness,
      await untilSettled(harness, (await harness.create()).generationId),
      'OUTPUT_INVALID',
      3,
    );
  });

  for (const code of Object.keys(TASK_ERRORS) as TaskErrorCode[]) {
    it(`ends immediately with ${code} when the provider refuses permanently`, async () => {
      harness.provider.submitScript = [{ refuse: { code, message: 'No.', mayRetry: false } }];
      const g = await untilSettled(harness, (await harness.create()).generationId);
      await expectFailed(harness, g, code, 1);
      expect(g.error?.message).to.equal('No.');
    });

    it(`tries ${code} again as often as the model allows when the provider's task failed and may be tried again`, async () => {
      harness.provider.newReport = () => ({ state: 'failed', failure: { code, message: 'Not now.', mayRetry: true } });
      await expectFailed(harness, await untilSettled(harness, (await harness.create()).generationId), code, 3);
      expect(
        new Set(harness.provider.submissions.map(({ token }) => token)),
        'each attempt has a token of its own',
      ).to.have.property('size', 3);
    });
  }

  it('waits longer from attempt to attempt, and charges once when one succeeds', async () => {
    const times: number[] = [];
    harness.provider.onSubmit = () => {
      times.push(harness.clock.now());
    };
    const refusal = { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Busy.', mayRetry: true } } as const;
    harness.provider.submitScript = [refusal, refusal, 'accept'];
    const g = await untilSettled(harness, (await harness.create()).generationId);
    expect(times.map((at) => at - (times[0] ?? 0))).to.deep.equal([0, 1_000, 3_000]);
    expect([g.status, g.attemptsMade]).to.deep.equal(['succeeded', 3]);
    await expectCharged(harness, g, 10);
  });

  for (const [what, from] of [
    ['refuses', 'submit'],
    ['reports a failure', 'poll'],
  ] as const) {
    const attemptsAt = async (retryAfterMs: number) => {
      const failure = { code: 'PROVIDER_UNAVAILABLE', message: 'Full.', mayRetry: true, retryAfterMs } as const;
      const times: number[] = [];
      harness.provider.onSubmit = () => {
        times.push(harness.clock.now());
      };
      if (from === 'submit') harness.provider.submitScript = [{ refuse: failure }];
      else harness.provider.newReport = () => ({ state: 'failed', failure });
      const g = await untilSettled(harness, (await harness.create()).generationId);
      await expectFailed(harness, g, 'PROVIDER_UNAVAILABLE', times.length);
      return { g, waits: times.map((at) => at - (times[0] ?? 0)) };
    };

    it(`begins no attempt before the time that a provider gives when it ${what}`, async () => {
      expect((await attemptsAt(90_000)).waits).to.deep.equal([0, 90_000, 180_000]);
    });

    it(`waits the usual time when a provider that ${what} asks for less, or for an invalid wait`, async () => {
      for (const retryAfterMs of [0, -1, 500, Number.NaN])
        expect((await attemptsAt(retryAfterMs)).waits, String(retryAfterMs)).to.deep.equal([0, 1_000, 3_000]);
    });

    it(`fails immediately when the wait that a provider asks for as it ${what} ends past the deadline`, async () => {
      const { g, waits } = await attemptsAt(86_400_000);
      expect([waits, g.completedAt]).to.deep.equal([[0], g.createdAt]);
    });
  }

  it('waits no longer than the settings allow, for any wait that a provider asks for', async () => {
    const opened = await CoreHarness.open({ settings: { retryAfterCapMs: 45_000 } });
    await CoreWorker.start(opened);
    const times: number[] = [];
    opened.provider.onSubmit = () => {
      times.push(opened.clock.now());
    };
    opened.provider.submitScript = [
      { refuse: { code: 'PROVIDER_UNAVAILABLE', message: 'Full.', mayRetry: true, retryAfterMs: 86_400_000 } },
      'accept',
    ];
    expect(await untilSettled(opened, (await opened.create()).generationId)).to.include({
      status: 'succeeded',
      attemptsMade: 2,
    });
    expect((times[1] ?? 0) - (times[0] ?? 0)).to.equal(45_000);
  });

  it('follows a task until it is done', async () => {
    const reports: ProviderReport[] = [
      { state: 'running', progress: 0.3 },
      { state: 'running', pollAfterMs: 40_000, progress: 0.6 },
      { state: 'running' },
    ];
    harness.provider.newReport = () => reports[0] as ProviderReport;
    const { generationId } = await harness.create();
    await harness.clock.advance(500);
    const task = harness.provider.onlyTask;
    for (const report of reports) {
      task.report = report;
      await harness.clock.advance(15_000);
    }
    await harness.clock.advance(60_000);
    expect((await harness.generation(generationId)).progress).to.equal(0.6);
    task.report = { state: 'succeeded', outputs: imagesOf(1) };
    await expectCharged(harness, await untilSettled(harness, generationId), 10);
  });

  it('tries again when the provider has lost the task', async () => {
    harness.provider.newReport = () => ({ state: 'unknown' });
    const { generationId } = await harness.create();
    await harness.clock.advance(0);
    harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.attemptsMade]).to.deep.equal(['succeeded', 2]);
    await expectCharged(harness, g, 10);
  });

  it('tolerates a provider that is silent for a while', async () => {
    harness.provider.pollThrows = true;
    const { generationId } = await harness.create();
    await harness.clock.advance(20_000);
    harness.provider.pollThrows = false;
    const g = await untilSettled(harness, generationId);
    expect([g.status, g.attemptsMade]).to.deep.equal(['succeeded', 1]);
  });

  it('fetches an output that is incomplete at every try until the deadline, and buys no other one', async () => {
    harness.provider.onOutput = async () => {
      throw new Error('The line broke.');
    };
    await expectFailed(harness, await untilSettled(harness, (await harness.create()).generationId), 'TASK_TIMEOUT', 1);
    expect(harness.provider.submissions).to.have.length(1);
  });

  it('fetches outputs again when the store was unavailable, without another run at the provider', async () => {
    const opened = await CoreHarness.open();
    let failuresLeft = 5;
    await CoreWorker.start(opened, 'worker', async (call) => {
      if (call.name !== 'objects.write' || failuresLeft === 0) return call.proceed();
      failuresLeft -= 1;
      throw new StoreUnavailable('The disk is full.');
    });
    const { generationId } = await opened.create();
    expect(await untilSettled(opened, generationId)).to.include({ status: 'succeeded', attemptsMade: 1 });
    expect([failuresLeft, opened.provider.submissions.length]).to.deep.equal([0, 1]);
  });
});
