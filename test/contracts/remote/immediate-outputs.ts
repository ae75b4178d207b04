import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { WANTED } from '../provider.contract.js';
import { failureOf, submittedWhole, type Cases } from './cases.js';
import type { RemoteProviderSubject } from './subject.js';

/** Of a provider whose answer to a submission has the outputs of the finished task. */
export function describeImmediateOutputs(proves: Cases, { failures, partial, supports }: RemoteProviderSubject): void {
  proves('answers a submission with its outputs, which are read in their order', async (one) => {
    const { answer, outputs } = await submittedWhole(one, one.provider, one.quick(randomUUID()), WANTED);
    if (!('outputs' in answer)) throw new Error('The answer has no outputs.');
    expect(outputs).to.not.have.length(0);
    for (const bytes of outputs) expect(bytes.byteLength).to.be.greaterThan(0);
    for (const { kind, mediaType } of answer.outputs)
      expect(mediaType.startsWith(`${kind}/`), mediaType).to.equal(true);
    if (supports.cost) expect(Object.keys(answer.cost ?? {}), 'its cost').to.not.have.length(0);
  });

  proves('ends soon when it is aborted before the first output is read', async (one) => {
    const planned = one.server.plan({ type: 'trickle', everyMs: 1, isEndless: true }, { of: 'submit' });
    const abort = new AbortController();
    const work = failureOf(
      (async () => {
        const answer = await one.provider.submit(one.quick(randomUUID()), abort);
        abort.abort();
        if ('outputs' in answer) for (const { bytes } of answer.outputs) for await (const _ of bytes) continue;
      })(),
    );
    await planned.met;
    abort.abort();
    expect(await work).to.be.instanceOf(Error);
    await planned.left;
  });

  proves('knows no task by a reference', async ({ provider, settings }) => {
    expect(await provider.poll('a-task', settings, WANTED)).to.deep.equal({ state: 'unknown' });
    expect(await failureOf(provider.output('a-task', 0, settings, WANTED))).to.be.instanceOf(Error);
    await provider.cancel('a-task', settings, WANTED);
  });

  for (const { name, code, task } of failures) {
    proves(`refuses as ${code} when ${name}`, async (one) => {
      const answer = await one.provider.submit(task(one.original, randomUUID()), WANTED);
      if (answer.accepted) throw new Error('The task was accepted.');
      expect(answer.failure.code).to.equal(code);
    });
  }

  if (partial === undefined) it.skip('has fewer outputs (skipped: this vendor delivers all or nothing)');
  else
    proves('has the outputs that were made when there are fewer than were asked for', async (one) => {
      const submission = partial.task(one.original, randomUUID());
      const { outputs } = await submittedWhole(one, one.provider, submission, WANTED);
      expect(outputs.length).to.equal(partial.outputs).and.below(submission.outputCount);
    });
}
