/*
 * Goal: the test model shows each behaviour that it can be asked for, and no other.
 * Method: one task per behaviour, on a clock that only the test moves.
 */
import { expect } from 'chai';
import { PROVIDER_ERRORS } from '../../../../core/generation/generation.js';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { ProviderReport, Submission } from '../../../../core/ports/provider.js';
import { bytesOf, reportsUntilOver, submitted } from '../../../contracts/provider.contract.js';
import { HandClock, task } from './tasks.js';

describe('Sandbox test model', () => {
  let clock: HandClock;
  let provider: SandboxProvider;
  let tests = 0;
  // One provider for all tests, because its thread takes longer to start than most tasks; each test uses its own
  // tokens.
  before(() => {
    clock = new HandClock();
    provider = new SandboxProvider({ clock, threads: 1 });
  });
  beforeEach(() => {
    tests += 1;
  });
  after(() => provider.close());

  const ownToken = (): string => `test-${tests}`;
  const told = (parameters: JsonObject, token = ownToken(), attempt = 1): Submission =>
    task({ token, attempt, painter: 'test', parameters: { size: '128x128', ...parameters } });
  const lastOf = async (submission: Submission): Promise<ProviderReport> => {
    const reference = await submitted(provider, submission);
    return (await reportsUntilOver(provider, reference, submission)).at(-1)!;
  };
  const pictures = (count: number): object => ({
    state: 'succeeded',
    outputs: Array.from({ length: count }, () => ({ kind: 'image', mediaType: 'image/png' })),
  });

  it('succeeds with what was asked for', async () => {
    expect(await lastOf(told({ n: 2 }))).to.deep.equal(pictures(2));
  });

  it('takes the configured time, with progress', async () => {
    const submission = told({ behaviour: 'slow', delay_ms: 1000 });
    const reference = await submitted(provider, submission);
    await painted(provider, clock, reference, 500);
    expect(await provider.poll(reference)).to.deep.equal({ state: 'running', progress: 0.5 });
    clock.advance(499);
    expect((await provider.poll(reference)).state).to.equal('running');
    clock.advance(1);
    expect((await reportsUntilOver(provider, reference, submission)).at(-1)).to.deep.equal(pictures(1));
  });

  it('delays a create by the configured time, 10 seconds at most', () => {
    const delay = (parameters: JsonObject, painter = 'test') => provider.acceptanceDelayMs({ painter }, parameters);
    expect(delay({ behaviour: 'slow_acceptance', delay_ms: 700 })).to.equal(700);
    expect(delay({ behaviour: 'slow_acceptance', delay_ms: 60_000 })).to.equal(10_000);
    expect(delay({ behaviour: 'slow_acceptance', delay_ms: 0 }), 'by default').to.equal(2_000);
    expect(delay({ behaviour: 'slow', delay_ms: 700 }), 'of another behaviour').to.equal(0);
    expect(delay({ behaviour: 'slow_acceptance' }, 'image'), 'of another painter').to.equal(0);
  });

  it('delivers fewer outputs, or none', async () => {
    expect(await lastOf(told({ behaviour: 'partial', n: 3, deliver: 2 }, 'two'))).to.deep.equal(pictures(2));
    expect(await lastOf(told({ behaviour: 'partial', n: 3, deliver: 0 }, 'none'))).to.deep.equal(pictures(0));
  });

  for (const code of PROVIDER_ERRORS) {
    it(`fails permanently with ${code}`, async () => {
      const report = await lastOf(told({ behaviour: 'fail', error_code: code }));
      expect(report).to.deep.equal({
        state: 'failed',
        failure: { code, message: 'The test model was asked to fail.', mayRetry: false },
      });
    });
  }

  it('fails the first attempts of a generation, then succeeds', async () => {
    const outcomes: string[] = [];
    for (const attempt of [1, 2, 3]) {
      const report = await lastOf(
        told(
          { behaviour: 'fail', error_code: 'PROVIDER_TIMEOUT', retryable_attempts: 2 },
          `attempt-${attempt}`,
          attempt,
        ),
      );
      outcomes.push(report.state === 'failed' ? `${report.failure.code} ${report.failure.mayRetry}` : report.state);
    }
    expect(outcomes).to.deep.equal(['PROVIDER_TIMEOUT true', 'PROVIDER_TIMEOUT true', 'succeeded']);
  });

  it('counts the attempts of the generation, whichever process ran the earlier ones', async () => {
    const failing = (attempt: number, token: string): Submission =>
      told({ behaviour: 'fail', retryable_attempts: 1 }, token, attempt);
    expect((await lastOf(failing(1, 'first'))).state).to.equal('failed');
    expect((await lastOf(failing(1, 'first of another generation'))).state).to.equal('failed');
    const another = new SandboxProvider({ clock, threads: 1 });
    const second = failing(2, 'second');
    expect((await reportsUntilOver(another, await submitted(another, second), second)).at(-1)).to.deep.equal(
      pictures(1),
    );
    await another.close();
  });

  it('refuses a task at its submission', async () => {
    const answer = await provider.submit(told({ behaviour: 'refuse', error_code: 'CONTENT_REJECTED_INPUT' }));
    expect(answer).to.deep.include({ accepted: false });
    expect(await provider.recover(ownToken())).to.deep.equal({ found: false });
  });

  it('succeeds despite a cancel', async () => {
    const submission = told({ behaviour: 'late_success_after_cancel', delay_ms: 1000 });
    const reference = await submitted(provider, submission);
    await provider.cancel(reference);
    expect((await provider.poll(reference)).state).to.equal('running');
    clock.advance(1000);
    expect((await reportsUntilOver(provider, reference, submission)).at(-1)).to.deep.equal(pictures(1));
  });

  it('accepts a task and loses the answer', async () => {
    const submission = told({ behaviour: 'unknown_acceptance' });
    expect(await thrownBy(() => provider.submit(submission))).to.be.instanceOf(Error);
    const found = await provider.recover(submission.token);
    if (!found.found) throw new Error('The task was not found.');
    expect((await reportsUntilOver(provider, found.reference, submission)).at(-1)).to.deep.equal(pictures(1));
    expect(await submitted(provider, submission)).to.equal(found.reference);
  });

  it('loses a task; the same attempt arrives when it is handed over again', async () => {
    const submission = told({ behaviour: 'unknown_acceptance_lost' });
    expect(await thrownBy(() => provider.submit(submission))).to.be.instanceOf(Error);
    expect(await provider.recover(submission.token)).to.deep.equal({ found: false });
    expect(await lastOf(submission)).to.deep.equal(pictures(1));
  });

  it('loses a task; the next attempt arrives', async () => {
    const submission = told({ behaviour: 'unknown_acceptance_lost' });
    expect(await thrownBy(() => provider.submit(submission))).to.be.instanceOf(Error);
    expect(await provider.recover(submission.token)).to.deep.equal({ found: false });
    expect(await lastOf(told({ behaviour: 'unknown_acceptance_lost' }, 'token-2', 2))).to.deep.equal(pictures(1));
  });

  it('hangs until it is cancelled', async () => {
    const reference = await submitted(provider, told({ behaviour: 'hang' }));
    clock.advance(3_000_000);
    expect((await provider.poll(reference)).state).to.equal('running');
    await provider.cancel(reference);
    expect(await provider.poll(reference)).to.deep.equal({ state: 'cancelled', outputs: [] });
  });

  it('delivers bytes that do not decode', async () => {
    await lastOf(told({ behaviour: 'bad_output' }));
    const bytes = await bytesOf(provider.output(`sandbox:${ownToken()}`, 0));
    expect(await thrownBy(() => sharp(bytes).raw().toBuffer())).to.be.instanceOf(Error);
  });

  it('delivers a sound picture of another size', async () => {
    await lastOf(told({ behaviour: 'wrong_output' }));
    const { info } = await sharp(await bytesOf(provider.output(`sandbox:${ownToken()}`, 0)))
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).to.deep.equal([64, 64]);
  });
});

/** Waits until the painting itself is done, with the clock at `ms` after the start; only the delay is left then. */
async function painted(provider: SandboxProvider, clock: HandClock, reference: string, ms: number): Promise<void> {
  clock.advance(ms);
  for (;;) {
    const report = await provider.poll(reference);
    if (report.state !== 'running' || (report.progress ?? 0) >= 0.5) return;
    await sleep(5);
  }
}

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}
