import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { SubmitAnswer } from '../../../core/ports/provider.js';
import type { Fault } from '../../providers/fakes/fake-server.js';
import { jsonFault } from '../../providers/fakes/faults.js';
import { WANTED } from '../provider.contract.js';
import { failureOf, NotApplicable, type Case, type Cases } from './cases.js';
import type { RefusalCase, RemoteProviderSubject } from './subject.js';
import { refusalOf } from './submissions.js';
import { textsOf } from './watched-provider.js';

const KINDS = ['submit', 'poll', 'output', 'cancel', 'recover', 'check'] as const;

type Refusal = Extract<SubmitAnswer, { readonly accepted: false }>;

export function describeRefusals(proves: Cases, { refusals }: RemoteProviderSubject): void {
  for (const refusal of refusals) {
    const { name, code, because, retryAfterMs } = refusal;
    proves(`refuses as ${code}${because === undefined ? '' : ` for ${because}`}: ${name}`, async (one) => {
      const answer = await refused(one, refusal);
      const { mayRetry: _, ...how } = refusalOf(answer);
      expect(how).to.deep.equal({ code, ...(because === undefined ? {} : { because }) });
      if (because === 'capacity') expect(answer.failure.mayRetry, 'capacity may come back').to.equal(true);
      if (retryAfterMs !== undefined) expect(answer.failure.retryAfterMs).to.equal(retryAfterMs);
      for (const text of textsOf(refusal.body)) expect(answer.failure.message).to.not.include(text);
      expect(one.server.posts, 'submissions sent').to.equal(1);
    });
  }

  const full = refusals.find(({ status }) => status === 429);
  if (full === undefined) it.skip('waits as long as it is asked to (skipped: this vendor has no status 429)');
  else describeWaits(proves, full);
}

function describeWaits(proves: Cases, full: RefusalCase): void {
  const waiting = (retryAfter: string): RefusalCase => ({
    ...full,
    headers: { ...full.headers, 'retry-after': retryAfter },
  });

  proves('waits for capacity as many seconds as it is asked to', async (one) => {
    const { failure } = await refused(one, waiting('7'));
    expect(failure.retryAfterMs).to.equal(7_000);
  });

  proves('waits for capacity until the date it is asked to', async (one) => {
    const { failure } = await refused(one, waiting(new Date(Date.now() + 60_000).toUTCString()));
    expect(failure.retryAfterMs).to.be.within(30_000, 61_000);
  });

  proves('takes a wait that cannot be for none, or for one of bounded length', async (one) => {
    for (const retryAfter of ['soon', '-1', '1e9', '99999999999999', 'Thu, 01 Jan 1970 00:00:00 GMT', '']) {
      const { failure } = await refused(one, waiting(retryAfter));
      expect(failure.retryAfterMs ?? 0, retryAfter).to.be.within(0, 31 * 24 * 3_600_000);
    }
  });
}

export function describeSecrets(proves: Cases): void {
  proves('shows its key in nothing, also when the server repeats it', async (one) => {
    const { secret, server, provider, settings } = one;
    if (secret === undefined) throw new NotApplicable('this vendor has no keys');
    const body = { error: { message: `Bad key ${secret}`, type: secret, code: secret }, detail: secret };
    for (const status of [400, 401, 403, 404, 422, 429, 500]) {
      const echo = jsonFault(status, body);
      for (const kind of KINDS) server.plan(echo, { of: kind });
      const answer = await provider.submit(one.quick(randomUUID()), WANTED).catch(() => undefined);
      const reference = answer !== undefined && 'reference' in answer ? answer.reference : randomUUID();
      await failureOf(provider.poll(reference, settings, WANTED));
      await failureOf(provider.output(reference, 0, settings, WANTED));
      await failureOf(provider.cancel(reference, settings, WANTED));
      await failureOf(provider.recover(randomUUID(), settings, WANTED));
      await failureOf(provider.check?.([settings], WANTED) ?? Promise.resolve());
      server.forgetFaults();
    }
    const elsewhere = await one.elsewhere();
    const stranger = await one.openedAt(elsewhere.url);
    await stranger.submit(one.quick(randomUUID()), WANTED).catch(() => undefined);
    await elsewhere.close();
    await failureOf(stranger.submit(one.quick(randomUUID()), WANTED));
    await failureOf(stranger.poll(randomUUID(), settings, WANTED));
  });
}

async function refused({ server, provider, quick }: Case, refusal: RefusalCase): Promise<Refusal> {
  server.plan(plannedRefusal(refusal), { of: 'submit' });
  const answer = await provider.submit(quick(randomUUID()), WANTED);
  if (answer.accepted) throw new Error('The task was accepted.');
  return answer;
}

/** The vendor's refusal in place of the answer to a submission. */
export function plannedRefusal({ status, headers = {}, body }: RefusalCase): Fault {
  return jsonFault(status, body, headers);
}
