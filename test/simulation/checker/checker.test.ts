// Goal: the checker reports nothing in a correct run, and names the invariant that each simulated violation breaks.
// Method: the checker observes real core on memory adapters; then one call is changed on its way to the store, one
// answer on its way out, or the checker is shown one event that never happened.
import { expect } from 'chai';
import type { AccountChange } from '../../../core/credits/account.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Upload } from '../../../core/uploads/upload.js';
import type { PortCall } from '../../fixtures/intercepted.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { type Answer, Violation } from '../observed.js';
import { CheckedService, SECRET } from './checked-service.js';

const HOUR_MS = 3_600_000;

/** Changes the first argument of each matching call. */
function changing<T extends object>(
  name: string,
  when: (value: T) => boolean,
  change: (value: T) => T,
): (call: PortCall) => readonly unknown[] {
  return (call) => {
    const [value, ...rest] = call.args;
    return call.name === name && when(value as T) ? [change(value as T), ...rest] : call.args;
  };
}

const always = (): boolean => true;
const refused = (
  code:
    | 'CREDITS_INSUFFICIENT'
    | 'QUEUE_FULL'
    | 'IDEMPOTENCY_PAYLOAD_MISMATCH'
    | 'INTERNAL_ERROR'
    | 'GENERATION_JOB_NOT_FOUND',
): Answer => ({ outcome: 'refused', code, message: 'No.' });
const withData =
  (changes: Record<string, string | number | undefined>) =>
  (answer: Answer): Answer =>
    answer.outcome === 'success' ? { ...answer, data: { ...answer.data, ...changes } as typeof answer.data } : answer;

describe('the checker', () => {
  let checked: CheckedService;
  const newest = (id: string): Promise<Generation> => checked.harness.generation(id);
  beforeEach(async () => {
    checked = await CheckedService.open();
  });

  it('finds nothing in correct runs', async () => {
    const stranger = await checked.newCaller(5);
    const uploadId = await checked.uploaded();
    const first = await checked.created(
      'one',
      { count: 2 },
      { reference_upload_ids: [uploadId.toUpperCase()], client_trace_id: 'mine' },
    );
    await checked.create(
      'one',
      { count: 2 },
      { reference_upload_ids: [uploadId.toUpperCase()], client_trace_id: 'mine' },
    );
    await checked.create('one', { count: 3 });
    await checked.finished(first);
    const odd = await checked.created('two', { count: 3 }, { model_key: 'odd' });
    await checked.ask({ operation: 'cancel', generationId: odd });
    await checked.ask({ operation: 'cancel', generationId: odd });
    for (const generationId of [first, odd, checked.caller.appId])
      await checked.ask({ operation: 'get', generationId });
    await checked.ask({ operation: 'get', generationId: first }, { caller: stranger });
    await checked.ask({ operation: 'create', key: 'dear', body: checked.harness.body() }, { caller: stranger });
    await checked.ask({ operation: 'credits' });
    await checked.checker.atRest(checked.now);
    await checked.harness.clock.advance(91 * 24 * HOUR_MS);
    for (let pass = 0; pass < 3; pass += 1) await checked.recover();
    await checked.checker.atRest(checked.now);
    checked.expectNothing();
    expect(checked.checker.transitions.get('queued start running')).to.equal(1);
    expect(checked.checker.transitions.get('running succeed succeeded')).to.equal(1);
  });

  it('1: finds totals that do not follow from the entries', async () => {
    checked.tamper = changing<AccountChange>('accounts.apply', always, (change) => ({
      ...change,
      spent: change.spent + 1,
    }));
    await checked.create('one');
    checked.expectFirst(1, 'spent');
  });

  it('1: finds a grant that was not requested', async () => {
    await checked.ask({ operation: 'credits' });
    await checked.newCaller(7);
    checked.expectFirst(1, 'was asked for by nobody');
  });

  it('1: finds credits that are attributed to another key', async () => {
    const { credentialId, appId } = checked.caller;
    checked.tamper = changing<AccountChange>('accounts.apply', always, (change) => ({
      ...change,
      entries: change.entries.map((entry) =>
        entry.attribution?.credentialId === credentialId
          ? { ...entry, attribution: { ...entry.attribution, credentialId: appId } }
          : entry,
      ),
    }));
    await checked.create('one');
    checked.expectFirst(1, 'attributed');
  });

  it('2: finds a book below zero', async () => {
    checked.tamper = changing<AccountChange>('accounts.apply', always, (change) => ({
      ...change,
      entries: change.entries.map((entry) => ({ ...entry, credits: 1_001 })),
    }));
    await checked.create('one');
    checked.expectFirst(2, 'available -1');
  });

  it('3: finds a price that was rounded twice', async () => {
    checked.tamper = changing<Generation>('generations.insert', always, (g) => ({
      ...g,
      estimatedCredits: g.estimatedCredits + 1,
      reservedCredits: g.reservedCredits + 1,
    }));
    await checked.create('one', { count: 2 }, { model_key: 'odd' });
    checked.expectFirst(3, 'its price is 5');
  });

  it('3: finds a success that is charged for more than was delivered', async () => {
    checked.harness.provider.newReport = () => ({
      state: 'succeeded',
      outputs: [{ kind: 'image', mediaType: 'image/png' }],
    });
    checked.tamper = changing<Generation>(
      'generations.replace',
      ({ status }) => status === 'succeeded',
      (g) => ({ ...g, chargedCredits: g.reservedCredits }),
    );
    await checked.finished(await checked.created('one', { count: 2 }));
    checked.expectFirst(3, '10 is due');
  });

  it('3: finds a cancelled generation that is charged below its floor', async () => {
    checked.harness.provider.newReport = () => ({ state: 'running' });
    const id = await checked.created('one');
    await checked.harness.clock.run(checked.dispatcher.deliver(id));
    await checked.harness.clock.advance(2_000);
    checked.tamper = changing<Generation>(
      'generations.replace',
      ({ status }) => status === 'cancelled',
      (g) => ({ ...g, chargedCredits: 0, unchargedBytes: 2_048 }),
    );
    await checked.ask({ operation: 'cancel', generationId: id });
    await checked.finished(id);
    checked.expectFirst(3, 'charged 0, where 3 is due');
  });

  it('4: finds a generation that was inserted without a hold', async () => {
    const id = await checked.created('one');
    const money = await CheckedService.open();
    money.tamper = (call) =>
      call.name === 'accounts.apply'
        ? [{ ...(call.args[0] as AccountChange), entries: [], holdsOpened: [], lastSequence: 1 }]
        : call.args;
    await money.create('one');
    money.expectFirst(1, 'available');
    checked.tamper = changing<Generation>('generations.insert', always, (g) => ({
      ...g,
      generationId: id.replace(/^0190/, '0191'),
    }));
    await checked.create('two');
    checked.expectFirst(11, 'no claim of it ever named it');
  });

  it('4: finds a hold that is ended while its generation runs', async () => {
    const id = await checked.created('one');
    await checked.context.accountWriter.execute(checked.caller.accountId, {
      kind: 'settle',
      generationId: id,
      charge: 0,
    });
    checked.expectFirst(4, 'was ended while it is queued');
  });

  it('4: finds a hold without a claim', async () => {
    await checked.context.accountWriter.execute(checked.caller.accountId, {
      kind: 'hold',
      generationId: checked.caller.appId,
      credits: 1,
      maxOpenHolds: 9,
      attribution: ATTRIBUTION,
    });
    checked.expectFirst(4, 'no claim');
  });

  it('5: finds a second charge', async () => {
    const id = await checked.created('one');
    await checked.finished(id);
    const { version, issued, available, reserved, spent, lastSequence } = await checked.harness.account(
      checked.caller.accountId,
    );
    const { accountId } = checked.caller;
    const hold = {
      accountId,
      sequence: lastSequence + 1,
      kind: 'charge',
      from: 'reserved',
      to: 'spent',
      credits: 1,
      at: 0,
      availableAfter: available,
      generationId: id,
    };
    await checked.show(
      'accounts.apply',
      [
        {
          accountId,
          expectedVersion: version,
          version: version + 1,
          issued,
          available,
          reserved,
          spent,
          lastSequence: lastSequence + 1,
          holdsOpened: [],
          holdsClosed: [],
          entries: [{ ...hold, credits: 0 }],
        },
      ],
      'applied',
    );
    checked.expectFirst(5, 'second time');
  });

  it('6: finds what is still held at rest', async () => {
    await checked.create('one');
    await checked.noting(() => checked.checker.atRest(checked.now));
    checked.expectFirst(6, '(queued)');
  });

  it('7: finds an ended generation that changes', async () => {
    const id = await checked.created('one');
    await checked.finished(id);
    const g = await newest(id);
    await checked.show('generations.replace', [{ ...g, version: g.version + 1, outputs: [] }, g.version], 'applied');
    checked.expectFirst(7, 'postpone changed outputs');
  });

  it('7: finds a step that is in no table', async () => {
    const id = await checked.created('one');
    const g = await newest(id);
    await checked.show('generations.replace', [{ ...g, version: 2, status: 'succeeded' }, 1], 'applied');
    checked.expectFirst(7, 'from queued to succeeded');
  });

  it('8: finds an answer older than one that is known', async () => {
    const accepted = await checked.create('one');
    const id = accepted.outcome === 'success' ? (accepted.data['generation_id'] as string) : '';
    await checked.finished(id);
    await checked.ask({ operation: 'get', generationId: id });
    await checked.ask({ operation: 'get', generationId: id }, { twist: () => accepted });
    checked.expectFirst(8, 'a client knew it before as succeeded');
  });

  it('9: finds an open task that does not say when to ask again', async () => {
    const id = await checked.created('one');
    await checked.ask({ operation: 'get', generationId: id }, { twist: withData({ poll_after_ms: undefined }) });
    checked.expectFirst(9, 'poll_after_ms');
  });

  it('10: finds a submission of what was cancelled while queued', async () => {
    const id = await checked.created('one');
    await checked.ask({ operation: 'cancel', generationId: id });
    await checked.noting(() =>
      checked.checker.calling({
        at: 0,
        process: 'worker-2',
        processNow: 0,
        call: 'provider.submit',
        args: [{ generationId: id, token: 'x' }],
      }),
    );
    checked.expectFirst(10, 'cancelled while queued');
  });

  it('11: finds a generation that is not what was asked for', async () => {
    checked.tamper = changing<Generation>('generations.insert', always, (g) => ({ ...g, prompt: 'Something else' }));
    await checked.create('one');
    checked.expectFirst(11, 'not what anybody asked for');
  });

  it('11: finds a mismatch where there is none, and a key with two answers', async () => {
    await checked.ask(
      { operation: 'create', key: 'one', body: checked.harness.body() },
      { twist: () => refused('IDEMPOTENCY_PAYLOAD_MISMATCH') },
    );
    checked.expectFirst(11, 'only ever this one');
    const other = await CheckedService.open();
    const first = await other.create('one');
    const second = await other.create('two');
    await other.ask({ operation: 'create', key: 'one', body: other.harness.body() }, { twist: () => second });
    expect(first.outcome).to.equal('success');
    other.expectFirst(11, 'and before with');
  });

  it('12: finds an accepted generation that does not exist', async () => {
    await checked.ask(
      { operation: 'create', key: 'one', body: checked.harness.body() },
      { twist: withData({ generation_id: '01900000-0000-7000-8000-00000000ffff' }) },
    );
    checked.expectFirst(12, 'which never was');
  });

  it('13: finds a refusal for credits that were there, and for a queue that was not full', async () => {
    await checked.ask(
      { operation: 'create', key: 'one', body: checked.harness.body() },
      { twist: () => refused('CREDITS_INSUFFICIENT') },
    );
    checked.expectFirst(13, 'had as many all the time');
    const other = await CheckedService.open();
    await other.ask(
      { operation: 'create', key: 'one', body: other.harness.body() },
      { twist: () => refused('QUEUE_FULL') },
    );
    other.expectFirst(13, 'full queue');
  });

  it('13: finds what a refusal left behind', async () => {
    await checked.ask(
      { operation: 'create', key: 'one', body: checked.harness.body({ count: 99 }) },
      { twist: () => refused('QUEUE_FULL') },
    );
    const late = await CheckedService.open(5);
    await late.create('one', { count: 1 });
    late.expectNothing();
    const g: Generation = await (async () => {
      const id = await checked.created('two');
      return newest(id);
    })();
    checked.expectFirst(13, 'full queue');
    expect(g.status).to.equal('queued');
  });

  it('14: finds a write of a process that does not have the lease, and a lease taken too early', async () => {
    checked.harness.provider.newReport = () => ({ state: 'running' });
    const id = await checked.created('one');
    await checked.harness.clock.run(checked.dispatcher.deliver(id));
    const g = await newest(id);
    const lease = {
      worker: 'worker-2',
      fence: 2,
      renewedAt: checked.now,
      expiresAt: checked.now + checked.harness.settings.leaseMs,
      bootId: 'boot-2',
    };
    await checked.show(
      'generations.replace',
      [{ ...g, version: g.version + 1, lease, fence: 2, updatedAt: checked.now }, g.version],
      'applied',
    );
    checked.expectFirst(14, 'had the lease until');
    const other = await CheckedService.open();
    other.harness.provider.newReport = () => ({ state: 'running' });
    const second = await other.created('one');
    await other.harness.clock.run(other.dispatcher.deliver(second));
    const mine = await other.harness.generation(second);
    await other.show(
      'generations.replace',
      [{ ...mine, version: mine.version + 1, progress: 0.5 }, mine.version],
      'applied',
    );
    other.expectFirst(14, 'worker-2 wrote renew');
  });

  it('15: finds a late report that moves credits', async () => {
    const id = await checked.created('one');
    await checked.ask({ operation: 'cancel', generationId: id });
    const g = await newest(id);
    await checked.show(
      'generations.replace',
      [{ ...g, version: g.version + 1, chargedCredits: 10, lateReport: { state: 'succeeded', at: 1 } }, g.version],
      'applied',
    );
    checked.expectFirst(7, 'late-report changed chargedCredits');
  });

  it('16: finds an upload that is not what was sent, and bytes that change', async () => {
    checked.tamper = changing<Upload>(
      'uploads.replace',
      ({ status }) => status === 'ready',
      (upload) => ({ ...upload, ...(upload.ready ? { ready: { ...upload.ready, sha256: 'ab' } } : {}) }),
    );
    await checked.uploaded();
    checked.expectFirst(16, 'which nobody sent to it');
    const other = await CheckedService.open();
    const uploadId = await other.uploaded();
    const record = await other.harness.ports.uploads.read(uploadId);
    await other.context.objects.remove(record?.kind === 'upload' ? (record.objectKey ?? '') : '');
    other.expectFirst(16, 'removed');
  });

  it('16: finds an output that is not there', async () => {
    const id = await checked.created('one');
    checked.tamper = (call) => {
      if (call.name === 'generations.replace' && (call.args[0] as Generation).status === 'succeeded')
        void checked.harness.ports.objects.remove(`outputs/${id}/1/0`);
      return call.args;
    };
    await checked.finished(id);
    checked.expectFirst(16, 'are gone');
  });

  it('17: finds a refusal that reveals something to another account', async () => {
    const id = await checked.created('one');
    const caller = await checked.newCaller(0);
    await checked.ask(
      { operation: 'get', generationId: id },
      { caller, twist: () => refused('GENERATION_JOB_NOT_FOUND') },
    );
    checked.expectFirst(17, 'was refused with GENERATION_JOB_NOT_FOUND');
  });

  it('18: finds a revoked key that is still accepted, and a secret that is stored', async () => {
    const revoked = checked.begin({ operation: 'revoke', keyId: checked.caller.credentialId });
    checked.checker.answered(revoked, { outcome: 'success', data: {}, replayed: false }, checked.now);
    await checked.harness.clock.advance(4_000);
    await checked.ask({ operation: 'credits' });
    checked.expectNothing();
    await checked.harness.clock.advance(2_000);
    await checked.ask({ operation: 'credits' });
    checked.expectFirst(18, 'arrived 6000 ms after');
    const other = await CheckedService.open();
    await other.create('one', { style: 'plain' }, { prompt: `With ${SECRET}` });
    other.expectFirst(18, 'contains');
  });

  it('12: finds errors that only the program can cause', () => {
    const log = (error: Error): void => checked.checker.logged('worker-1', 'run abandoned', { error });
    expect(() => log(new Error('The line broke.'))).to.not.throw();
    expect(() => log(new Error('Broken invariant: something'))).to.throw(Violation, 'Broken invariant');
    expect(() => log(new TypeError('x is not a function'))).to.throw(Violation, 'x is not a function');
  });

  it('20: finds an end that came long after its deadline', async () => {
    await checked.create('one');
    checked.checker.quiet(checked.now);
    await checked.harness.clock.advance(HOUR_MS);
    await checked.recover();
    await checked.noting(() => checked.checker.atRest(checked.now));
    checked.expectFirst(20, 'after its deadline');
  });
});
