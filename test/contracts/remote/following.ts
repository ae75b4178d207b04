import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { reportsUntilOver, submitted, WANTED } from '../provider.contract.js';
import { failureOf, finished, outputOf, TakesTooMuch, withinBytes, type Cases } from './cases.js';
import { SILENCES } from './hostile.js';
import type { RemoteProviderSubject } from './subject.js';

/** How a task that was accepted with a reference is followed. */
export function describeFollowing(proves: Cases, { failures, partial, supports }: RemoteProviderSubject): void {
  proves('serves a reference from another process, to its last output', async (one) => {
    const submission = one.quick(randomUUID());
    const reference = await submitted(one.provider, submission);
    const other = await one.reopened();
    const last = (await reportsUntilOver(other, reference, submission)).at(-1)!;
    expect(last.state).to.equal('succeeded');
    expect((await outputOf(one, other, reference)).byteLength).to.be.greaterThan(0);
  });

  if (supports.cost)
    proves('says what a finished task has cost', async (one) => {
      const submission = one.quick(randomUUID());
      const reference = await submitted(one.provider, submission);
      const last = (await reportsUntilOver(one.provider, reference, submission)).at(-1)!;
      expect('cost' in last && Object.keys(last.cost ?? {}).length > 0, 'it has a cost').to.equal(true);
    });
  else it.skip('says what a finished task has cost (skipped: this provider cannot)');

  for (const { name, code, task } of failures) {
    proves(`reports ${code} when ${name}`, async (one) => {
      const submission = task(one.original, randomUUID());
      const reference = await submitted(one.provider, submission);
      const last = (await reportsUntilOver(one.provider, reference, submission)).at(-1)!;
      if (last.state !== 'failed') throw new Error(`The task ended ${last.state}.`);
      expect(last.failure.code).to.equal(code);
    });
  }

  if (partial === undefined) it.skip('lists fewer outputs (skipped: this vendor delivers all or nothing)');
  else
    proves('lists the outputs that were made when there are fewer than were asked for', async (one) => {
      const submission = partial.task(one.original, randomUUID());
      const reference = await submitted(one.provider, submission);
      const last = (await reportsUntilOver(one.provider, reference, submission)).at(-1)!;
      expect('outputs' in last ? last.outputs.length : 0)
        .to.equal(partial.outputs)
        .and.below(submission.outputCount);
      for (let index = 0; index < partial.outputs; index += 1)
        expect((await outputOf(one, one.provider, reference, { index })).byteLength).to.be.greaterThan(0);
    });

  describeStrangeReferences(proves);
  describeHostilePolls(proves, supports.maxAnswerBytes ?? 16 * 1024 * 1024);
}

function describeStrangeReferences(proves: Cases): void {
  proves('knows no task under a strange reference, and asks nobody but its server', async (one) => {
    const elsewhere = await one.elsewhere();
    const strange = [
      '',
      '..',
      '../../etc/passwd',
      `${elsewhere.url}/x`,
      '{"id":1}',
      '[]',
      'a\r\nb: c',
      'x'.repeat(5_000),
    ];
    for (const reference of strange) {
      const report = await one.provider.poll(reference, one.settings, WANTED).catch(() => undefined);
      if (report !== undefined) expect(report, JSON.stringify(reference)).to.deep.equal({ state: 'unknown' });
      expect(await failureOf(outputOf(one, one.provider, reference))).to.be.instanceOf(Error);
      await failureOf(one.provider.cancel(reference, one.settings, WANTED));
    }
    expect(elsewhere.requests).to.have.length(0);
    expect(one.server.posts).to.equal(0);
  });
}

function describeHostilePolls(proves: Cases, maxAnswerBytes: number): void {
  for (const [name, fault] of SILENCES) {
    proves(`throws for a poll, or says what is so, when ${name}`, async (one) => {
      const reference = await finished(one, one.quick(randomUUID()));
      const honest = await one.provider.poll(reference, one.settings, WANTED);
      one.server.plan(fault, { of: 'poll' });
      const report = await one.provider.poll(reference, one.settings, WANTED).catch(() => honest);
      // Some vendors say so that they have nothing.
      if (fault.type === 'status' && fault.body === '{}' && report.state === 'unknown') return;
      expect(report).to.deep.equal(honest);
      expect(await one.provider.poll(reference, one.settings, WANTED), 'the next poll').to.deep.equal(honest);
    });
  }

  proves('throws for a poll whose answer has no end, within its bounds', async (one) => {
    const reference = await finished(one, one.quick(randomUUID()));
    const planned = one.server.plan({ type: 'huge' }, { of: 'poll' });
    const work = withinBytes(planned, maxAnswerBytes, (call) => one.provider.poll(reference, one.settings, call));
    const error = await failureOf(work);
    expect(error).to.be.instanceOf(Error).and.not.instanceOf(TakesTooMuch);
    await planned.left;
  });

  for (const [name, fault] of [
    ['no answer comes', { type: 'hang' }],
    ['an answer trickles', { type: 'trickle', everyMs: 1, isEndless: true }],
  ] as const) {
    proves(`ends a poll soon when it is aborted while ${name}, and closes the connection`, async (one) => {
      const reference = await finished(one, one.quick(randomUUID()));
      const planned = one.server.plan(fault, { of: 'poll' });
      const abort = new AbortController();
      const work = failureOf(one.provider.poll(reference, one.settings, abort));
      await planned.met;
      abort.abort();
      const error = await work;
      if (fault.type === 'hang') expect(error).to.be.instanceOf(Error);
      await planned.left;
    });
  }

  proves('follows no redirect of a poll to another address', async (one) => {
    const reference = await finished(one, one.quick(randomUUID()));
    const elsewhere = await one.elsewhere();
    const honest = await one.provider.poll(reference, one.settings, WANTED);
    one.server.plan({ type: 'redirect', to: `${elsewhere.url}/stolen`, status: 302 }, { of: 'poll' });
    expect(await one.provider.poll(reference, one.settings, WANTED).catch(() => honest)).to.deep.equal(honest);
    expect(elsewhere.requests).to.have.length(0);
  });
}
