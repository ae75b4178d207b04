import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { reportsUntilOver, submitted, WANTED } from '../provider.contract.js';
import { failureOf, finished, type Cases } from './cases.js';
import { SILENCES } from './hostile.js';
import type { RemoteProviderSupports } from './subject.js';

export function describeCancels(proves: Cases, { promises: { cancels } }: RemoteProviderSupports): void {
  if (cancels === 'nothing') {
    proves('asks nobody to stop a task, as nothing would', async ({ provider, settings, server }) => {
      await provider.cancel('a-task', settings, WANTED);
      expect(server.requests.filter(({ of }) => of.includes('cancel'))).to.have.length(0);
    });
    return;
  }

  proves('stops a task that waits, from another process', async (one) => {
    if (one.queued === undefined) throw new Error('The subject needs `queued`.');
    const submission = one.queued(randomUUID());
    const reference = await submitted(one.provider, submission);
    const other = await one.reopened();
    await other.cancel(reference, submission.settings, WANTED);
    await other.cancel(reference, submission.settings, WANTED);
    const last = (await reportsUntilOver(one.provider, reference, submission)).at(-1)!;
    expect(['cancelled', 'unknown']).to.include(last.state);
  });

  proves(`${cancels === 'running' ? 'stops' : 'leaves'} a running task, however often it is asked`, async (one) => {
    const submission = one.endless(randomUUID());
    const reference = await submitted(one.provider, submission);
    for (let asked = 0; asked < 2; asked += 1) await one.provider.cancel(reference, submission.settings, WANTED);
    if (cancels === 'queued')
      expect((await one.provider.poll(reference, submission.settings, WANTED)).state).to.equal('running');
    else {
      const last = (await reportsUntilOver(one.provider, reference, submission)).at(-1)!;
      expect(['cancelled', 'unknown']).to.include(last.state);
    }
  });

  proves('leaves a task as it is that has ended', async (one) => {
    const submission = one.quick(randomUUID());
    const reference = await finished(one, submission);
    const before = await one.provider.poll(reference, submission.settings, WANTED);
    for (let asked = 0; asked < 2; asked += 1) await one.provider.cancel(reference, submission.settings, WANTED);
    expect(await one.provider.poll(reference, submission.settings, WANTED)).to.deep.equal(before);
  });

  proves('stops a task when the first request to stop it is lost', async (one) => {
    if (one.queued === undefined) throw new Error('The subject needs `queued`.');
    const submission = one.queued(randomUUID());
    const reference = await submitted(one.provider, submission);
    one.server.plan({ type: 'drop' }, { of: 'cancel' });
    await failureOf(one.provider.cancel(reference, submission.settings, WANTED));
    await one.provider.cancel(reference, submission.settings, WANTED);
    const last = (await reportsUntilOver(one.provider, reference, submission)).at(-1)!;
    expect(['cancelled', 'unknown']).to.include(last.state);
  });

  proves('submits nothing, and goes nowhere else, whatever a request to stop is answered', async (one) => {
    const reference = await finished(one, one.quick(randomUUID()));
    const elsewhere = await one.elsewhere();
    for (const [, fault] of SILENCES) {
      one.server.plan(fault, { of: 'cancel' });
      await failureOf(one.provider.cancel(reference, one.settings, WANTED));
    }
    one.server.plan({ type: 'redirect', to: `${elsewhere.url}/stolen` }, { of: 'cancel' });
    await failureOf(one.provider.cancel(reference, one.settings, WANTED));
    expect([one.server.posts, elsewhere.requests.length]).to.deep.equal([1, 0]);
  });

  proves('ends a request to stop soon when it is aborted while no answer comes', async (one) => {
    // Some providers look first whether a task can be stopped.
    const submission = (cancels === 'queued' && one.queued ? one.queued : one.endless)(randomUUID());
    const reference = await submitted(one.provider, submission);
    const planned = one.server.plan({ type: 'hang' }, { of: 'cancel' });
    const abort = new AbortController();
    const work = failureOf(one.provider.cancel(reference, submission.settings, abort));
    await planned.met;
    abort.abort();
    await work;
    await planned.left;
  });
}
