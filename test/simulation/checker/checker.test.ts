// Goal: the checker reports nothing in a correct run, and names the invariant that each simulated violation breaks.
// Method: the checker observes real core on memory adapters; then one call is changed on its way to the store, one
// answer on its way out, or the checker is shown one event that never happened.
import { expect } from 'chai';
import type { AccountChange } from '../../../core/credits/account.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Upload } from '../../../core/uploads/upload.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { type Answer, Violation } from '../observed.js';
import { CheckedService, SECRET } from './checked-service.js';

const HOUR_MS = 3_600_000;

/** Changes the first argument of each matching call on its way to the store. */
function changing<T extends object>(
  name: string,
  change: (value: T) => Partial<T>,
  when: (value: T) => boolean = () => true,
): CheckedService['tamper'] {
  return (call) => {
    const [value, ...rest] = call.args;
    return call.name === name && when(value as T) ? [{ ...(value as T), ...change(value as T) }, ...rest] : call.args;
  };
}

interface Planted {
  /** A part of what the checker says first. The number in front of the test's name is the invariant. */
  readonly says: string;
  readonly tamper?: CheckedService['tamper'];
  readonly twist?: (answer: Answer) => Answer;
  /** The request; a create when absent. */
  readonly act?: (checked: CheckedService) => Promise<unknown>;
}

const refused = (code: Extract<Answer, { outcome: 'refused' }>['code']): Answer => ({
  outcome: 'refused',
  code,
  message: 'No.',
});
const withData =
  (changes: Record<string, string | number | undefined>) =>
  (answer: Answer): Answer =>
    answer.outcome === 'success' ? { ...answer, data: { ...answer.data, ...changes } as typeof answer.data } : answer;

/** One call is changed on its way to the store, or one answer on its way out. */
const PLANTED: Readonly<Record<string, Planted>> = {
  '1: finds totals that do not follow from the entries': {
    says: 'spent',
    tamper: changing<AccountChange>('accounts.apply', ({ spent }) => ({ spent: spent + 1 })),
  },
  '1: finds a change without its entries': {
    says: 'available',
    tamper: changing<AccountChange>('accounts.apply', () => ({ entries: [], holdsOpened: [], lastSequence: 1 })),
  },
  '1: finds credits that are attributed to another key': {
    says: 'attributed',
    tamper: changing<AccountChange>('accounts.apply', ({ entries }) => ({
      entries: entries.map((entry) => ({
        ...entry,
        ...(entry.attribution ? { attribution: { ...entry.attribution, credentialId: 'another' } } : {}),
      })),
    })),
  },
  '1: finds credits that are attributed to another App': {
    says: 'attributed',
    tamper: changing<AccountChange>('accounts.apply', ({ entries }) => ({
      entries: entries.map((entry) => ({
        ...entry,
        ...(entry.attribution ? { attribution: { ...entry.attribution, appId: 'another' } } : {}),
      })),
    })),
  },
  '2: finds a book below zero': {
    says: 'available -1',
    tamper: changing<AccountChange>('accounts.apply', ({ entries }) => ({
      entries: entries.map((entry) => ({ ...entry, credits: 1_001 })),
    })),
  },
  '3: finds a price that was rounded twice': {
    says: 'its price is 5',
    tamper: changing<Generation>('generations.insert', ({ estimatedCredits, reservedCredits }) => ({
      estimatedCredits: estimatedCredits + 1,
      reservedCredits: reservedCredits + 1,
    })),
    act: (checked) => checked.create('one', { count: 2 }, { model_key: 'odd' }),
  },
  '3: finds a success that is charged for more than was delivered': {
    says: '10 is due',
    tamper: changing<Generation>(
      'generations.replace',
      ({ reservedCredits }) => ({ chargedCredits: reservedCredits }),
      ({ status }) => status === 'succeeded',
    ),
    act: async (checked) => {
      const outputs = [{ kind: 'image', mediaType: 'image/png' }] as const;
      checked.harness.provider.newReport = () => ({ state: 'succeeded', outputs: [...outputs] });
      await checked.finished(await checked.created('one', { count: 2 }));
    },
  },
  '4: finds a hold that is not among the open ones': {
    says: 'with 0 holds; by its entries it has 1',
    tamper: changing<AccountChange>('accounts.apply', () => ({ holdsOpened: [] })),
  },
  '4: finds an open hold of another amount': {
    says: 'is stored with a hold of 11',
    tamper: changing<AccountChange>('accounts.apply', ({ holdsOpened }) => ({
      holdsOpened: holdsOpened.map((hold) => ({ ...hold, credits: hold.credits + 1 })),
    })),
  },
  '11: finds a generation under an id that was not claimed': {
    says: 'no claim of it ever named it',
    tamper: changing<Generation>('generations.insert', ({ generationId }) => ({
      generationId: generationId.replace(/^0190/, '0191'),
    })),
  },
  '11: finds a generation that is not what was asked for': {
    says: 'not what anybody asked for',
    tamper: changing<Generation>('generations.insert', () => ({ prompt: 'Something else' })),
  },
  '16: finds an upload that is not what was sent': {
    says: 'which nobody sent to it',
    tamper: changing<Upload>(
      'uploads.replace',
      ({ ready }) => (ready ? { ready: { ...ready, sha256: 'ab' } } : {}),
      ({ status }) => status === 'ready',
    ),
    act: (checked) => checked.uploaded(),
  },
  '18: finds a secret that is stored': {
    says: 'contains',
    act: (checked) => checked.create('one', { style: 'plain' }, { prompt: `With ${SECRET}` }),
  },
  '9: finds an open task that does not say when to ask again': {
    says: 'poll_after_ms',
    twist: withData({ poll_after_ms: undefined }),
  },
  '11: finds a mismatch where there is none': {
    says: 'only ever this one',
    twist: () => refused('IDEMPOTENCY_PAYLOAD_MISMATCH'),
  },
  '12: finds an accepted generation that does not exist': {
    says: 'which never was',
    twist: withData({ generation_id: '01900000-0000-7000-8000-00000000ffff' }),
  },
  '12: finds an internal error': { says: 'INTERNAL_ERROR', twist: () => refused('INTERNAL_ERROR') },
  '13: finds a refusal for credits that were there': {
    says: 'had as many all the time',
    twist: () => refused('CREDITS_INSUFFICIENT'),
  },
  '13: finds a refusal for a queue that was not full': { says: 'full queue', twist: () => refused('QUEUE_FULL') },
};

/** A write by no process, of a generation that has not started or has ended. */
const REWRITTEN: Readonly<Record<string, { readonly says: string; readonly isOver?: true } & Partial<Generation>>> = {
  '7: finds an ended generation that changes': { says: 'changed outputs', isOver: true, outputs: [] },
  '7: finds a step that is in no table': { says: 'from queued to succeeded', status: 'succeeded' },
  '7: finds a late report that moves credits': {
    says: 'late-report changed chargedCredits',
    isOver: true,
    chargedCredits: 5,
    lateReport: { state: 'succeeded', at: 1 },
  },
};

describe('the checker', () => {
  let checked: CheckedService;
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

  const create = (twist: Planted['twist'] = (answer) => answer): Promise<Answer> =>
    checked.ask({ operation: 'create', key: 'one', body: checked.harness.body() }, { twist });
  for (const [name, { says, tamper, twist, act }] of Object.entries(PLANTED))
    it(name, async () => {
      if (tamper) checked.tamper = tamper;
      await (act?.(checked) ?? create(twist));
      checked.expectFirst(Number.parseInt(name, 10), says);
    });

  for (const [name, { says, isOver = false, ...changes }] of Object.entries(REWRITTEN))
    it(name, async () => {
      const id = await checked.created('one');
      if (isOver) await checked.finished(id);
      await checked.rewrite(id, changes);
      checked.expectFirst(Number.parseInt(name, 10), says);
    });

  it('1: finds a grant that was not requested', async () => {
    await checked.ask({ operation: 'credits' });
    await checked.newCaller(7);
    checked.expectFirst(1, 'was asked for by nobody');
  });

  it('3: finds a cancelled generation that is charged below its floor', async () => {
    checked.harness.provider.newReport = () => ({ state: 'running' });
    const id = await checked.created('one');
    await checked.harness.clock.run(checked.dispatcher.deliver(id));
    await checked.harness.clock.advance(2_000);
    checked.tamper = changing<Generation>(
      'generations.replace',
      () => ({ chargedCredits: 0, unchargedBytes: 2_048 }),
      ({ status }) => status === 'cancelled',
    );
    await checked.ask({ operation: 'cancel', generationId: id });
    await checked.finished(id);
    checked.expectFirst(3, 'charged 0, where 3 is due');
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
    const { accountId } = checked.caller;
    const { version, issued, available, reserved, spent, lastSequence } = await checked.harness.account(accountId);
    const sequence = lastSequence + 1;
    const moved = { kind: 'charge', from: 'reserved', to: 'spent', credits: 0, at: 0, availableAfter: available };
    const entries = [{ accountId, sequence, generationId: id, ...moved }];
    const books = { issued, available, reserved, spent, lastSequence: sequence, holdsOpened: [], holdsClosed: [] };
    const change = { accountId, expectedVersion: version, version: version + 1, ...books, entries };
    await checked.show('accounts.apply', [change], 'applied');
    checked.expectFirst(5, 'second time');
  });

  it('6: finds what is still held at rest', async () => {
    await checked.create('one');
    await checked.noting(() => checked.checker.atRest(checked.now));
    checked.expectFirst(6, '(queued)');
  });

  it('8: finds an answer older than one that is known', async () => {
    const accepted = await checked.create('one');
    const id = accepted.outcome === 'success' ? (accepted.data['generation_id'] as string) : '';
    await checked.finished(id);
    await checked.ask({ operation: 'get', generationId: id });
    await checked.ask({ operation: 'get', generationId: id }, { twist: () => accepted });
    checked.expectFirst(8, 'had shown ["succeeded"');
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

  it('11: finds a key with two answers', async () => {
    const first = await checked.create('one');
    const second = await checked.create('two');
    await create(() => second);
    expect(first.outcome).to.equal('success');
    checked.expectFirst(11, 'and before with');
  });

  it('14: finds a lease taken too early, and a write of a process that does not have the lease', async () => {
    for (const [changes, saying] of [
      [{ fence: 2, lease: checked.leaseOfAnother() }, 'had the lease until'],
      [{ progress: 0.5 }, 'worker-2 wrote renew'],
    ] as const) {
      const service = await CheckedService.open();
      service.harness.provider.newReport = () => ({ state: 'running' });
      const id = await service.created('one');
      await service.harness.clock.run(service.dispatcher.deliver(id));
      await service.rewrite(id, changes);
      service.expectFirst(14, saying);
    }
  });

  it('16: finds bytes of an upload that are removed', async () => {
    const record = await checked.harness.ports.uploads.read(await checked.uploaded());
    await checked.context.objects.remove(record?.kind === 'upload' ? (record.objectKey ?? '') : '');
    checked.expectFirst(16, 'removed');
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

  it('18: finds a revoked key that is still accepted', async () => {
    const revoked = checked.begin({ operation: 'revoke', keyId: checked.caller.credentialId });
    checked.checker.answered(revoked, { outcome: 'success', data: {}, replayed: false }, checked.now);
    await checked.harness.clock.advance(4_000);
    await checked.ask({ operation: 'credits' });
    checked.expectNothing();
    await checked.harness.clock.advance(2_000);
    await checked.ask({ operation: 'credits' });
    checked.expectFirst(18, 'arrived 6000 ms after');
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
