/*
 * Goal: every provider keeps the guarantees of its port, whatever technology it uses.
 * Method: small real tasks through the port alone, polled until they are over; nothing is assumed about how long they take. The
 * signals are the platform's own.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Provider, ProviderCall, ProviderReport, RecoverAnswer, Submission } from '../../core/ports/provider.js';
import { collected } from '../fixtures/byte-streams.js';
import type { ContractSubject } from './subject.js';

export interface ProviderSupports {
  /** It can report by token whether it accepted a task. */
  readonly recovery: boolean;
  /** It makes one task of one token, however often it is submitted; the same as `recovery` when absent. */
  readonly takesTokenOnce?: boolean;
  /** It can cancel a running task. */
  readonly cancellation: boolean;
  /** Its answer to a submission has the outputs of the finished task, as its promises say. */
  readonly answersWithOutputs?: boolean;
}

export interface OpenedProvider {
  /** A provider to which nothing was submitted. */
  readonly provider: Provider;
  /** A small task that succeeds with one output at least. */
  readonly quick: (token: string) => Submission;
  /** A task that runs until it is cancelled; needed with `cancellation`. */
  readonly endless: (token: string) => Submission;
}

export function providerContract<Opening extends OpenedProvider>(
  subject: ContractSubject<Opening, ProviderSupports>,
): void {
  describe(`Provider contract: ${subject.name}`, () => {
    let opened: Opening;
    beforeEach(async () => void (opened = await subject.open()));
    afterEach(async () => subject.close(opened));

    if (subject.supports.answersWithOutputs === true) describeOutputsInAnswer(() => opened);
    else describeSuccess(() => opened);
    describeUnknown(() => opened);
    describeAborts(() => opened, subject.supports);
    const { recovery, takesTokenOnce = recovery } = subject.supports;
    if (recovery) describeRecovery(() => opened);
    else it.skip('recovers by token (skipped: this provider cannot tell by token)');
    if (takesTokenOnce) describeTokens(() => opened);
    else it.skip('makes one task of one token (skipped: this provider may make several)');
    if (subject.supports.cancellation) describeCancellation(() => opened);
    else it.skip('stops a running task (skipped: this provider cannot stop one)');
  });
}

type Opened = () => OpenedProvider;

/** A call that is never aborted. */
export const WANTED: ProviderCall = { signal: new AbortController().signal };

/** Submits a task that must be accepted, and gives its reference. */
export async function submitted(provider: Provider, submission: Submission): Promise<string> {
  const answer = await provider.submit(submission, WANTED);
  if (!answer.accepted) throw new Error(`The task was refused: ${answer.failure.message}`);
  if (!('reference' in answer)) throw new Error('The answer has outputs instead of a reference.');
  return answer.reference;
}

/**
 * Polls until the task is over and gives every report on the way; the test runner's own limit ends a task that never
 * is.
 */
export async function reportsUntilOver(
  provider: Provider,
  reference: string,
  submission: Submission,
): Promise<ProviderReport[]> {
  const reports: ProviderReport[] = [];
  for (;;) {
    const report = await provider.poll(reference, submission.settings, WANTED);
    reports.push(report);
    if (report.state !== 'running') return reports;
    await sleep(5);
  }
}

export async function bytesOf(source: Promise<AsyncIterable<Uint8Array>>): Promise<Buffer> {
  return Buffer.from(await collected(await source));
}

function describeSuccess(opened: Opened): void {
  it('accepts a task, reports it and delivers every output it lists, any number of times', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    const reference = await submitted(provider, submission);
    const last = (await reportsUntilOver(provider, reference, submission)).at(-1)!;
    if (last.state !== 'succeeded') throw new Error(`The task ended ${last.state}.`);
    expect(last.outputs).to.not.have.length(0);
    for (const [index, output] of last.outputs.entries()) {
      expect(output.mediaType.startsWith(`${output.kind}/`), output.mediaType).to.equal(true);
      const first = await bytesOf(provider.output(reference, index, submission.settings, WANTED));
      const second = await bytesOf(provider.output(reference, index, submission.settings, WANTED));
      expect(first.byteLength).to.be.greaterThan(0);
      expect(second.equals(first)).to.equal(true);
    }
    expect(await provider.poll(reference, submission.settings, WANTED)).to.deep.equal(last);
  });

  it('reports progress from 0 to 1 that never goes back', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    const reference = await submitted(provider, submission);
    let highest = 0;
    for (const report of await reportsUntilOver(provider, reference, submission)) {
      if (report.state !== 'running' || report.progress === undefined) continue;
      expect(report.progress).to.be.within(highest, 1);
      highest = report.progress;
    }
  });

  it('gives different tasks different references', async () => {
    const { provider, quick } = opened();
    const first = await submitted(provider, quick(randomUUID()));
    expect(await submitted(provider, quick(randomUUID()))).to.not.equal(first);
  });

  it('refuses an unknown output', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    const reference = await submitted(provider, submission);
    await reportsUntilOver(provider, reference, submission);
    expect(await failureOf(bytesOf(provider.output(reference, 999, submission.settings, WANTED)))).to.be.instanceOf(
      Error,
    );
  });
}

function describeOutputsInAnswer(opened: Opened): void {
  it('answers a submission with at least one output, each with its bytes', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    expect(provider.capabilities(submission.settings).answersWithOutputs).to.equal(true);
    const answer = await provider.submit(submission, WANTED);
    if (!('outputs' in answer)) throw new Error('The answer has no outputs.');
    expect(answer.outputs).to.not.have.length(0);
    for (const { kind, mediaType, bytes } of answer.outputs) {
      expect(mediaType.startsWith(`${kind}/`), mediaType).to.equal(true);
      expect((await collected(bytes)).byteLength).to.be.greaterThan(0);
    }
    answer.close?.();
  });

  // An output that cannot be read a second time is lost: core would have it made, and paid for, once more.
  it('gives each output from its beginning again, once it was read and when it was left before its end', async () => {
    const { provider, quick } = opened();
    const answer = await provider.submit(quick(randomUUID()), WANTED);
    if (!('outputs' in answer)) throw new Error('The answer has no outputs.');
    for (const { bytes } of answer.outputs) {
      for await (const _piece of bytes) break;
      const whole = await collected(bytes);
      expect(whole.byteLength).to.be.greaterThan(0);
      expect(await collected(bytes)).to.deep.equal(whole);
    }
    answer.close?.();
  });
}

function describeUnknown(opened: Opened): void {
  it('answers unknown for a task it does not know, and accepts its cancel', async () => {
    const { provider, quick } = opened();
    const { settings } = quick(randomUUID());
    await provider.cancel('no-such-task', settings, WANTED);
    expect(await provider.poll('no-such-task', settings, WANTED)).to.deep.equal({ state: 'unknown' });
    expect(await failureOf(bytesOf(provider.output('no-such-task', 0, settings, WANTED)))).to.be.instanceOf(Error);
  });
}

function describeTokens(opened: Opened): void {
  it('creates one task for one token, however often and concurrently it is submitted', async () => {
    const { provider, quick } = opened();
    const token = randomUUID();
    const references = await Promise.all([1, 2, 3].map(() => submitted(provider, quick(token))));
    references.push(await submitted(provider, quick(token)));
    expect(new Set(references).size).to.equal(1);
  });
}

function describeRecovery(opened: Opened): void {
  it('finds a task by its token, and none by another', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    expect(await recovered(provider, submission)).to.deep.equal({ found: false });
    const reference = await submitted(provider, submission);
    expect(await recovered(provider, submission)).to.deep.equal({ found: true, reference });
    expect(await recovered(provider, { ...submission, token: randomUUID() })).to.deep.equal({ found: false });
  });
}

function describeAborts(opened: Opened, { recovery, answersWithOutputs = false }: ProviderSupports): void {
  it('accepts no task with a signal that is already aborted', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    expect(await failureOf(provider.submit(submission, { signal: AbortSignal.abort() }))).to.be.instanceOf(Error);
    if (recovery) expect(await recovered(provider, submission)).to.deep.equal({ found: false });
  });

  it('answers or throws soon when a submission is aborted in flight, and knows afterwards which it was', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    const abort = new AbortController();
    const answer = provider.submit(submission, { signal: abort.signal }).catch((error: unknown) => error);
    abort.abort();
    const outcome = await answer;
    if (!recovery) return;
    const known = await recovered(provider, submission);
    if (typeof outcome === 'object' && outcome !== null && 'reference' in outcome)
      expect(known).to.deep.equal({ found: true, reference: outcome.reference });
    else expect(known).to.be.an('object').with.property('found').that.is.a('boolean');
  });

  if (answersWithOutputs) return;
  it('serves a task after a call about it was aborted', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    const reference = await submitted(provider, submission);
    await provider.poll(reference, submission.settings, { signal: AbortSignal.abort() }).catch(() => undefined);
    const last = (await reportsUntilOver(provider, reference, submission)).at(-1)!;
    expect(last.state).to.equal('succeeded');
    await provider.output(reference, 0, submission.settings, { signal: AbortSignal.abort() }).catch(() => undefined);
    expect((await bytesOf(provider.output(reference, 0, submission.settings, WANTED))).byteLength).to.be.greaterThan(0);
  });
}

function describeCancellation(opened: Opened): void {
  it('stops a running task, and being asked twice does no harm', async () => {
    const { provider, endless } = opened();
    const submission = endless(randomUUID());
    const reference = await submitted(provider, submission);
    expect((await provider.poll(reference, submission.settings, WANTED)).state).to.equal('running');
    await provider.cancel(reference, submission.settings, WANTED);
    await provider.cancel(reference, submission.settings, WANTED);
    expect((await reportsUntilOver(provider, reference, submission)).at(-1)!.state).to.equal('cancelled');
  });

  it('leaves a finished task as it is', async () => {
    const { provider, quick } = opened();
    const submission = quick(randomUUID());
    const reference = await submitted(provider, submission);
    const last = (await reportsUntilOver(provider, reference, submission)).at(-1);
    await provider.cancel(reference, submission.settings, WANTED);
    expect(await provider.poll(reference, submission.settings, WANTED)).to.deep.equal(last);
  });
}

/** The provider's answer about a token, once it is no longer undecided. */
async function recovered(provider: Provider, { token, settings }: Submission): Promise<RecoverAnswer> {
  for (;;) {
    const answer = await provider.recover(token, settings, WANTED);
    if (answer === 'unsupported' || answer.found !== 'not-yet') return answer;
    expect(answer.retryAfterMs ?? 0, 'the wait it asks for').to.be.at.least(0);
    await sleep(answer.retryAfterMs ?? 5);
  }
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}
