import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Provider, RecoverAnswer, Submission } from '../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../provider.contract.js';
import { failureOf, turn, type Case, type Cases } from './cases.js';
import { SILENCES } from './hostile.js';
import type { RemoteProviderSupports } from './subject.js';

export function describeRecovery(proves: Cases, { promises }: RemoteProviderSupports): void {
  if (promises.isAskedBy === 'token') describeAsking(proves, promises.takesTokenOnce);
  else
    proves('says that it cannot be asked by token, and asks nobody', async ({ provider, settings, server }) => {
      expect(await provider.recover(randomUUID(), settings, WANTED)).to.equal('unsupported');
      expect(server.requests).to.have.length(0);
    });
}

function describeAsking(proves: Cases, takesTokenOnce: boolean): void {
  proves('finds a task whose answer was lost, from another process, and serves it there', async (one) => {
    const submission = one.quick(randomUUID());
    one.server.plan({ type: 'lose-answer' }, { of: 'submit' });
    expect(await failureOf(one.provider.submit(submission, WANTED))).to.be.instanceOf(Error);
    await expectServed(one, await one.reopened(), submission);
    expect(one.server.posts).to.equal(1);
  });

  proves('finds a task whose submission was aborted while no answer came', async (one) => {
    const submission = one.quick(randomUUID());
    const planned = one.server.plan({ type: 'hang' }, { of: 'submit' });
    const abort = new AbortController();
    const work = failureOf(one.provider.submit(submission, abort));
    await planned.met;
    abort.abort();
    await work;
    await expectServed(one, one.provider, submission);
    expect(one.server.posts).to.equal(1);
  });

  proves('finds a task that was delayed on its way, as soon as it has arrived', async (one) => {
    const submission = one.quick(randomUUID());
    const planned = one.server.plan({ type: 'late' }, { of: 'submit' });
    expect(await failureOf(one.provider.submit(submission, WANTED))).to.be.instanceOf(Error);
    await planned.met;
    const before = await one.provider.recover(submission.token, submission.settings, WANTED);
    expect(foundOf(before), 'it is not there yet').to.not.equal(true);
    await planned.release();
    await expectServed(one, one.provider, submission);
    expect(one.server.posts).to.equal(1);
  });

  proves('says that there is no task where none was taken, or not yet', async (one) => {
    const submission = one.quick(randomUUID());
    one.server.plan({ type: 'cut-body' }, { of: 'submit' });
    await failureOf(one.provider.submit(submission, WANTED));
    expect([false, 'not-yet']).to.include(
      foundOf(await one.provider.recover(submission.token, submission.settings, WANTED)),
    );
  });

  for (const [name, fault] of SILENCES) {
    // Some vendors say so that they have nothing.
    if (fault.type === 'status' && fault.body === '{}') continue;
    proves(`never says that there is no task when ${name}`, async (one) => {
      const submission = one.quick(randomUUID());
      await submitted(one.provider, submission);
      one.server.plan(fault, { of: 'recover' });
      const answer = await one.provider.recover(submission.token, submission.settings, WANTED).catch(() => undefined);
      if (answer !== undefined) expect(['not-yet', true]).to.include(foundOf(answer));
    });
  }

  proves('ends soon when it is aborted while no answer comes', async (one) => {
    const submission = one.quick(randomUUID());
    const planned = one.server.plan({ type: 'hang' }, { of: 'recover' });
    const abort = new AbortController();
    const work = failureOf(one.provider.recover(submission.token, submission.settings, abort));
    await planned.met;
    abort.abort();
    expect(await work).to.be.instanceOf(Error);
    await planned.left;
  });

  if (!takesTokenOnce) return;
  proves('makes one task of one token, also when a proxy delivers it twice', async (one) => {
    const submission = one.quick(randomUUID());
    one.server.plan({ type: 'twice' }, { of: 'submit' });
    const reference = await submitted(one.provider, submission);
    expect(await submitted(await one.reopened(), submission)).to.equal(reference);
    expect(one.tasks()).to.equal(1);
  });
}

/** Asks until the provider knows, which must be that it has the task, and follows that to its end. */
async function expectServed({ tasks }: Case, provider: Provider, submission: Submission): Promise<void> {
  const { token, settings } = submission;
  for (;;) {
    const answer = await provider.recover(token, settings, WANTED);
    if (answer === 'unsupported' || answer.found === false) throw new Error('It says that it has no such task.');
    if (answer.found === true) {
      const last = (await reportsUntilOver(provider, answer.reference, submission)).at(-1)!;
      expect(last.state).to.equal('succeeded');
      expect(tasks(), 'tasks taken').to.equal(1);
      return;
    }
    await (answer.retryAfterMs === undefined ? turn() : sleep(answer.retryAfterMs));
  }
}

function foundOf(answer: RecoverAnswer): boolean | 'not-yet' | 'unsupported' {
  return answer === 'unsupported' ? answer : answer.found;
}
