import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  hintsOf,
  type Provider,
  type ProviderCall,
  type RecoverAnswer,
  type Submission,
} from '../../../core/ports/provider.js';
import type { Fault } from '../../providers/fakes/fake-server.js';
import { jsonFault } from '../../providers/fakes/faults.js';
import { reportsUntilOver, submitted, WANTED } from '../provider.contract.js';
import {
  abortedAt,
  type Case,
  type Cases,
  ended,
  failureOf,
  finished,
  outputOf,
  TakesTooMuch,
  turn,
  withinBytes,
} from './cases.js';
import { SILENCES } from './hostile.js';
import type { RemoteProviderSubject, RemoteProviderSupports } from './subject.js';

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
      const { last } = await ended(one, one.quick(randomUUID()));
      expect('cost' in last && Object.keys(last.cost ?? {}).length > 0, 'it has a cost').to.equal(true);
    });
  else it.skip('says what a finished task has cost (skipped: this provider cannot)');

  for (const { name, code, task } of failures) {
    proves(`reports ${code} when ${name}`, async (one) => {
      const { last } = await ended(one, task(one.original, randomUUID()));
      if (last.state !== 'failed') throw new Error(`The task ended ${last.state}.`);
      expect(last.failure.code).to.equal(code);
    });
  }

  if (partial === undefined) it.skip('lists fewer outputs (skipped: this vendor delivers all or nothing)');
  else
    proves('lists the outputs that were made when there are fewer than were asked for', async (one) => {
      const submission = partial.task(one.original, randomUUID());
      const { reference, last } = await ended(one, submission);
      expect('outputs' in last ? last.outputs.length : 0)
        .to.equal(partial.outputs)
        .and.below(submission.outputCount);
      for (let index = 0; index < partial.outputs; index += 1)
        expect((await outputOf(one, one.provider, reference, { index })).byteLength).to.be.greaterThan(0);
    });

  describeStrangeReferences(proves);
  if (supports.readsErrors === true) describeSilentPolls(proves);
  else it.skip('throws for polls that say nothing (skipped: this provider has rules of its own)');
  if (supports.hasStatusWord !== undefined) describeStatusWords(proves, supports.hasStatusWord);
  else it.skip('counts an unknown status as running (skipped: the status is not one word)');
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

const JSON_TYPE = { 'content-type': 'application/json' };
const NO = { error: { message: 'No.' } };

/** Polls without information about the task, and what their errors must tell core. */
const SILENT_POLLS: readonly (readonly [name: string, fault: Fault, hints: object])[] = [
  ['429', jsonFault(429, { error: { code: 'slow' } }, { 'retry-after': '7' }), { retryAfterMs: 7_000 }],
  [
    '429 in HTML',
    { type: 'status', status: 429, headers: { 'retry-after': '9' }, body: '<p>' },
    { retryAfterMs: 9_000 },
  ],
  ['401', jsonFault(401, { detail: 'No.' }), { isAccessRefused: true }],
  ['403', jsonFault(403, NO), { isAccessRefused: true }],
  ['500', jsonFault(500, NO), {}],
  ['502 in HTML', { type: 'html', status: 502 }, {}],
  ['503', { type: 'status', status: 503, headers: { 'retry-after': '5' }, body: '' }, { retryAfterMs: 5_000 }],
  ['404 in HTML', { type: 'html', status: 404 }, {}],
  ['404 of a gateway', jsonFault(404, { message: 'no Route matched with those values' }), {}],
  ['410 in HTML', { type: 'html', status: 410 }, {}],
  ['200 in HTML', { type: 'html', status: 200 }, {}],
  ['200 without a body', { type: 'status', status: 200, headers: JSON_TYPE, body: '' }, {}],
  ['an error in 200', jsonFault(200, NO), {}],
  ['half of it', { type: 'truncated' }, {}],
];

/** Their error must tell core how long to wait, and an operator what to do. */
function describeSilentPolls(proves: Cases): void {
  for (const [name, fault, hints] of SILENT_POLLS)
    proves(`throws for a poll that is answered with ${name}, and knows the task afterwards`, async (one) => {
      const reference = await finished(one);
      const honest = await one.provider.poll(reference, one.settings, WANTED);
      for (let polls = 0; polls < 12; polls += 1) {
        one.server.plan(fault, { of: 'poll' });
        const error = await failureOf(one.provider.poll(reference, one.settings, WANTED));
        expect(error).to.be.instanceOf(Error);
        expect(hintsOf(error)).to.deep.equal(hints);
      }
      expect(await one.provider.poll(reference, one.settings, WANTED)).to.deep.equal(honest);
    });
}

function describeStatusWords(proves: Cases, words: true | 'listed'): void {
  const saying = (status: string): Fault => ({
    type: 'altered',
    alter: ({ json, body, ...answer }) => {
      if (typeof json === 'object') return { ...answer, json: { ...json, status } };
      // Such as JSON with numbers that only Python writes.
      const text = (typeof body === 'string' ? body : '').replace(
        /"status":\s*"[^"]*"/,
        () => `"status":${JSON.stringify(status)}`,
      );
      return { ...answer, body: text };
    },
  });

  proves('counts a task with an unknown status as running, and names the status', async (one) => {
    const reference = await finished(one);
    const long = 'é'.repeat(500);
    for (const [status, shown] of [
      ['BREWING', 'BREWING'],
      ['on hold', 'on hold'],
      [long, '?'.repeat(64)],
      ['a\nb', 'a?b'],
    ] as const) {
      one.server.plan(saying(status), { of: 'poll' });
      const report = await one.provider.poll(reference, one.settings, WANTED);
      const { state, unknownStatus } = report as { readonly state: string; readonly unknownStatus?: string };
      expect(state, status).to.equal('running');
      // If the operator lists the statuses, any other text may be left out.
      if (words === 'listed' && shown !== status) expect(unknownStatus).to.match(/^[ -~]{1,64}$/);
      else expect(unknownStatus).to.equal(shown);
    }
  });

  if (words === 'listed') return;
  proves('knows the words of other vendors for a task that goes on', async (one) => {
    const reference = await submitted(one.provider, one.endless(randomUUID()));
    for (const status of ['NOT_START', 'SUBMITTED', 'Pending', 'IN_QUEUE', 'in progress', 'RUNNING', 'queued']) {
      one.server.plan(saying(status), { of: 'poll' });
      const report = await one.provider.poll(reference, one.settings, WANTED);
      expect([report.state, 'unknownStatus' in report], status).to.deep.equal(['running', false]);
    }
  });
}

function describeHostilePolls(proves: Cases, maxAnswerBytes: number): void {
  for (const [name, fault] of SILENCES) {
    proves(`throws for a poll, or says what is so, when ${name}`, async (one) => {
      const reference = await finished(one);
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
    const reference = await finished(one);
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
      const reference = await finished(one);
      const error = await abortedAt(one, 'poll', fault, (call) => one.provider.poll(reference, one.settings, call));
      if (fault.type === 'hang') expect(error).to.be.instanceOf(Error);
    });
  }

  proves('follows no redirect of a poll to another address', async (one) => {
    const reference = await finished(one);
    const elsewhere = await one.elsewhere();
    const honest = await one.provider.poll(reference, one.settings, WANTED);
    one.server.plan({ type: 'redirect', to: `${elsewhere.url}/stolen`, status: 302 }, { of: 'poll' });
    expect(await one.provider.poll(reference, one.settings, WANTED).catch(() => honest)).to.deep.equal(honest);
    expect(elsewhere.requests).to.have.length(0);
  });
}

export function describeCancels(proves: Cases, { capabilities: { cancels } }: RemoteProviderSupports): void {
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
    const reference = await finished(one);
    const before = await one.provider.poll(reference, one.settings, WANTED);
    for (let asked = 0; asked < 2; asked += 1) await one.provider.cancel(reference, one.settings, WANTED);
    expect(await one.provider.poll(reference, one.settings, WANTED)).to.deep.equal(before);
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
    const reference = await finished(one);
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
    const cancel = (call: ProviderCall) => one.provider.cancel(reference, submission.settings, call);
    await abortedAt(one, 'cancel', { type: 'hang' }, cancel);
  });
}

export function describeRecovery(proves: Cases, { capabilities }: RemoteProviderSupports): void {
  if (capabilities.isAskedBy === 'token') describeAsking(proves, capabilities.takesTokenOnce);
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
    await abortedAt(one, 'submit', { type: 'hang' }, (call) => one.provider.submit(submission, call));
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
    const recover = (call: ProviderCall) => one.provider.recover(submission.token, submission.settings, call);
    expect(await abortedAt(one, 'recover', { type: 'hang' }, recover)).to.be.instanceOf(Error);
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
