import { expect } from 'chai';
import fc from 'fast-check';
import type { Boot } from '../../../core/boot.js';
import {
  decide,
  type GenerationCommand,
  type GenerationEvent,
  hasLiveLease,
  mayBeTakenOver,
  TRANSITIONS,
} from '../../../core/generation/decide.js';
import { type Generation, type GenerationStatus, STATUSES } from '../../../core/generation/generation.js';
import { MAX_CLOCK_SKEW_MS } from '../../../core/settings.js';
import { commandOf, decideAt, generationIn, outputs, queued } from './generations.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: the invariants of a generation hold for any sequence of events and any clock: amounts, terminal immutability,
// completedAt and error, fences, attempts; a cancel answered with "cancelled" costs nothing.
// Method: random sequences of commands with random fences and a clock that jumps both ways, each step checked by
// assertions that do not depend on how decide works; and single cases for the amounts.

const EVENTS = Object.keys({
  'start': 0,
  'take-over': 0,
  'renew': 0,
  're-lease': 0,
  'begin-attempt': 0,
  'accepted': 0,
  'attempt-failed': 0,
  'attempt-undone': 0,
  'submit-again': 0,
  'submission-ended': 0,
  'yield': 0,
  'allow-last-poll': 0,
  'cancel': 0,
  'give-up': 0,
  'succeed': 0,
  'fail': 0,
  'stop': 0,
  'expire': 0,
  'postpone': 0,
  'settle': 0,
  'content-removed': 0,
  'outputs-removed': 0,
  'thumbnail-made': 0,
  'late-report': 0,
  'delete': 0,
} satisfies Record<GenerationEvent, 0>) as GenerationEvent[];

const ENDED = ['succeeded', 'failed', 'cancelled'];
const HOLDER_EVENTS: readonly string[] = [
  'renew',
  're-lease',
  'begin-attempt',
  'submit-again',
  'submission-ended',
  'accepted',
  'attempt-failed',
  'attempt-undone',
  'yield',
  'succeed',
  'fail',
  'stop',
];

/** Mostly events that advance a generation, by the newest holder or an overtaken one. */
const step = fc.record({
  event: fc.oneof(
    fc.constantFrom(...EVENTS),
    fc.constantFrom('start' as const, 'take-over' as const, 'begin-attempt' as const, 'accepted' as const),
  ),
  staleBy: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 2 })),
  clockMs: fc.oneof(fc.nat({ max: 5_000 }), fc.integer({ min: -200_000, max: 200_000 })),
  count: fc.nat({ max: 4 }),
});

function commandFor(
  { event, staleBy, count }: { event: GenerationEvent; staleBy: number; count: number },
  g: Generation,
): GenerationCommand {
  const command = commandOf(event, g.fence - staleBy);
  return 'outputs' in command ? { ...command, outputs: outputs(count) } : command;
}

/** The part of an ended generation that a client can see, and the terms agreed on at the start. */
function seenAfterEnd(g: Generation): unknown {
  const {
    version: _version,
    settledAt: _settledAt,
    outputsRemovedAt: _removed,
    lateReport: _late,
    dueAt: _attention,
    ...rest
  } = g;
  // No front shows the request itself.
  const {
    prompt: _prompt,
    negativePrompt: _negative,
    parameters: _parameters,
    references: _references,
    unchargedBytes: _bytes,
    contentRemovedAt: _at,
    // One that is deleted is not shown at all.
    deletedAt: _deleted,
    outputs: delivered,
    ...shown
  } = rest;
  // Thumbnails are shown by an address that does not depend on whether they were made.
  return { ...shown, outputs: delivered.map(({ thumbnailBytes: _thumbnails, ...output }) => output) };
}

function expectStepSound(before: Generation, after: Generation, command: GenerationCommand): void {
  expect(after.version).to.equal(before.version + 1);
  expect([after.createdAt, after.estimatedCredits, after.reservedCredits, after.terms]).to.deep.equal([
    before.createdAt,
    before.estimatedCredits,
    before.reservedCredits,
    before.terms,
  ]);
  expect(after.chargedCredits).to.be.within(before.chargedCredits, after.reservedCredits);
  expect(after.updatedAt, 'updated_at never goes back').to.be.at.least(before.updatedAt);
  expect(after.createdAt).to.be.at.most(after.updatedAt);
  expect(ENDED.includes(after.status)).to.equal(after.completedAt !== undefined);
  expect(after.status === 'failed').to.equal(after.error !== undefined);
  expect(after.status === 'succeeded' && after.outputs.length === 0).to.equal(false);
  if (!['succeeded', 'cancelled'].includes(after.status))
    expect([after.outputs.length, after.chargedCredits]).to.deep.equal([0, 0]);
  expect(after.attemptsMade).to.be.at.most(after.terms.maxAttempts);
  if (HOLDER_EVENTS.includes(command.event))
    expect('fence' in command && command.fence, 'only the newest holder writes').to.equal(before.fence);
  if (['start', 'take-over', 're-lease'].includes(command.event)) expect(after.fence).to.equal(before.fence + 1);
  else expect(after.fence).to.equal(before.fence);
  if (after.lease) expect(after.lease.fence, 'the lease is the last one given').to.equal(after.fence);
  if (ENDED.includes(after.status)) expect(after.lease).to.equal(undefined);
  if (ENDED.includes(before.status)) expect(seenAfterEnd(after)).to.deep.equal(seenAfterEnd(before));
  if (after.deletedAt !== undefined) expect(before.settledAt, 'settled before it is deleted').not.to.equal(undefined);
  if (before.cancelRequestedAt !== undefined)
    expect(after.attemptsMade, 'no attempt begins after a cancel').to.be.at.most(before.attemptsMade);
}

describe('decide', () => {
  it('keeps the invariants of a generation through any sequence of commands, with any clock', () => {
    forAllSync(1_000, [fc.array(step, { maxLength: 40 })], (steps) => {
      let [g, now] = [queued(), 1_000];
      for (const one of steps) {
        now = Math.max(0, now + one.clockMs);
        const before = structuredClone(g);
        const command = commandFor(one, g);
        const decision = decideAt(g, command, now);
        expect(g, 'what was decided on is left as it is').to.deep.equal(before);
        if ('refused' in decision) continue;
        expectStepSound(g, decision.next, command);
        g = decision.next;
      }
    });
  });

  it('refuses every write of an overtaken holder', () => {
    const g = generationIn('running', 'renew');
    const taken = decideAt(
      queued({ ...g, lease: { worker: 'w', fence: 1, renewedAt: 1_000, expiresAt: 1_900 } }),
      commandOf('take-over'),
      2_000,
    );
    if (!('next' in taken)) expect.fail('a lapsed lease can be taken');
    for (const event of HOLDER_EVENTS as GenerationEvent[]) {
      expect(decideAt(taken.next, commandOf(event, 1), 2_001), event).to.deep.equal({ refused: 'FENCE_STALE' });
    }
  });

  it('leaves a live lease to its holder', () => {
    const g = generationIn('running', 'renew');
    expect(decideAt(g, commandOf('take-over'), 29_999)).to.deep.equal({ refused: 'LEASE_HELD' });
    expect(decideAt(g, commandOf('expire'), 29_999)).to.deep.equal({ refused: 'LEASE_HELD' });
    expect(decideAt(g, commandOf('take-over'), 30_000)).to.have.nested.property('next.fence', 2);
    expect(decideAt(g, commandOf('expire'), 30_000)).to.have.nested.property('next.status', 'failed');
  });

  it('makes recovery examine a generation when its deadline has passed, however far ahead the clock of its holder is', () => {
    for (const event of ['renew', 're-lease', 'take-over'] as const) {
      const g = generationIn('running', event);
      expect(decideAt(g, commandOf(event), 20_000), event).to.have.nested.property('next.dueAt', 51_000);
      expect(decideAt(g, commandOf(event), 200_000), event).to.have.nested.property('next.dueAt', 62_500);
    }
  });

  it('starts nothing after the queue deadline, and no attempt after the run deadline', () => {
    expect(decideAt(queued(), commandOf('start'), 50_000)).to.have.nested.property('next.runDeadlineAt', 110_000);
    expect(decideAt(queued(), commandOf('start'), 50_001)).to.deep.equal({ refused: 'DEADLINE_PASSED' });
    const g = generationIn('running', 'begin-attempt');
    expect(decideAt(g, commandOf('begin-attempt'), 61_500)).to.have.nested.property('next.attemptsMade', 2);
    expect(decideAt(g, commandOf('begin-attempt'), 61_501)).to.deep.equal({ refused: 'DEADLINE_PASSED' });
  });

  it('begins no attempt once a cancel was requested', () => {
    const g = generationIn('running', 'begin-attempt');
    expect(decideAt(queued({ ...g, cancelRequestedAt: 1_600 }), commandOf('begin-attempt'), 2_000)).to.deep.equal({
      refused: 'NOT_ALLOWED',
    });
  });

  it('charges what was delivered, never more than was reserved', () => {
    for (const [count, credits] of [
      [1, 10],
      [2, 20],
      [3, 30],
      [4, 30],
    ] as const) {
      const decision = decideAt(
        generationIn('running', 'succeed'),
        { event: 'succeed', outputs: outputs(count), fence: 1 },
        2_000,
      );
      expect(decision).to.have.nested.property('next.chargedCredits', credits);
    }
    expect(
      decideAt(generationIn('running', 'succeed'), { event: 'succeed', outputs: [], fence: 1 }, 2_000),
    ).to.deep.equal({ refused: 'NOT_ALLOWED' });
  });

  it('charges a cancelled one its deliveries or the floor, and nothing when it was never handed over', () => {
    const unsent = generationIn('running', 'stop');
    const sent = queued({
      ...unsent,
      attempt: { number: 1, phase: 'submitted', token: 't', startedAt: 1_500, reference: 'r' },
    });
    const stop = (g: Generation, count: number) =>
      decideAt(g, { event: 'stop', outputs: outputs(count), fence: 1 }, 2_000);
    expect(stop(unsent, 0)).to.have.nested.property('next.chargedCredits', 0);
    expect(stop(sent, 0)).to.have.nested.property('next.chargedCredits', 4);
    expect(stop(sent, 1)).to.have.nested.property('next.chargedCredits', 10);
    expect(stop(queued({ ...sent, terms: { ...sent.terms, cancelFloorCredits: 99 } }), 0)).to.have.nested.property(
      'next.chargedCredits',
      30,
    );
    expect(decideAt(queued(), commandOf('cancel'), 2_000)).to.have.nested.property('next.chargedCredits', 0);
  });

  it('shows progress that only grows, within 0 and 1', () => {
    let g = generationIn('running', 'renew');
    for (const [progress, shown] of [
      [0.4, 0.4],
      [0.2, 0.4],
      [7, 1],
      [-3, 1],
    ] as const) {
      const decision = decideAt(g, { event: 'renew', leaseMs: 1_000, progress, fence: 1 }, 2_000);
      if (!('next' in decision)) expect.fail('the holder may renew');
      expect(decision.next.progress).to.equal(shown);
      g = decision.next;
    }
  });
});

// Goal: a generation makes the table's transitions and no others.
// Method: every status with every event, against a second copy of the table in this file, and against `decide` itself
// on a generation that meets each event's own conditions.

const AFTER_THE_END = ['settle', 'postpone', 'content-removed', 'outputs-removed', 'late-report', 'delete'];

/** Columns: from queued, from running. `-` is refused. */
const OPEN: Readonly<Record<GenerationEvent, readonly [string, string]>> = {
  'start': ['running', '-'],
  'take-over': ['-', 'running'],
  'renew': ['-', 'running'],
  're-lease': ['-', 'running'],
  'begin-attempt': ['-', 'running'],
  'accepted': ['-', 'running'],
  'submit-again': ['-', 'running'],
  'submission-ended': ['-', 'running'],
  'attempt-failed': ['-', 'running'],
  'attempt-undone': ['-', 'running'],
  'yield': ['-', 'running'],
  'allow-last-poll': ['-', 'running'],
  'cancel': ['cancelled', 'running'],
  'give-up': ['failed', '-'],
  'succeed': ['-', 'succeeded'],
  'fail': ['-', 'failed'],
  'stop': ['-', 'cancelled'],
  'expire': ['-', 'failed'],
  'postpone': ['queued', 'running'],
  'settle': ['-', '-'],
  'content-removed': ['-', '-'],
  'outputs-removed': ['-', '-'],
  'thumbnail-made': ['-', '-'],
  'late-report': ['-', '-'],
  'delete': ['-', '-'],
};

function expected(status: GenerationStatus, event: GenerationEvent): string {
  if (status === 'queued') return OPEN[event][0];
  if (status === 'running') return OPEN[event][1];
  // A failed generation has no outputs.
  if (event === 'thumbnail-made') return status === 'failed' ? '-' : status;
  return AFTER_THE_END.includes(event) ? status : '-';
}

describe('generation transitions', () => {
  for (const status of STATUSES) {
    for (const event of Object.keys(OPEN) as GenerationEvent[]) {
      it(`${status}, ${event}: ${expected(status, event)}`, () => {
        expect(TRANSITIONS[status][event] ?? '-').to.equal(expected(status, event));
        const decision = decideAt(generationIn(status, event), commandOf(event), 2_000);
        expect('next' in decision ? decision.next.status : '-').to.equal(expected(status, event));
      });
    }
  }
});

// Goal: on an exclusive store, leases of another boot are void at once, except for an attempt whose submission may be
// in flight; on a shared store none are. On both, fences grow and overtaken holders write nothing.
// Method: generations with every kind of lease, decided on by every kind of boot, against the rule written a second
// time.

const NOW = 100_000;

const boot: fc.Arbitrary<Boot> = fc.record({ id: fc.constantFrom('mine', 'other'), isExclusive: fc.boolean() });
const left = fc.record({
  bootId: fc.constantFrom('mine', 'other', undefined),
  leftMs: fc.constantFrom(-1, 0, 1, 9_000),
  renewedAt: fc.constantFrom(NOW - 10, NOW + MAX_CLOCK_SKEW_MS, NOW + MAX_CLOCK_SKEW_MS + 1),
  phase: fc.constantFrom('submitting', 'submitted', 'none'),
});

function generation({
  bootId,
  leftMs,
  renewedAt,
  phase,
}: {
  bootId: string | undefined;
  leftMs: number;
  renewedAt: number;
  phase: string;
}): Generation {
  const { attempt: _attempt, ...g } = generationIn('running', 'renew');
  const attempt = { number: 1, token: 't', startedAt: 1_500 } as const;
  const lease = {
    worker: 'w',
    fence: 1,
    renewedAt,
    expiresAt: NOW + leftMs,
    ...(bootId === undefined ? {} : { bootId }),
  };
  if (phase === 'none') return { ...g, lease };
  return {
    ...g,
    lease,
    // The period for a last poll is over.
    runDeadlineAt: NOW - 9,
    lastPollBy: NOW - 1,
    attempt:
      phase === 'submitting' ? { ...attempt, phase: 'submitting' } : { ...attempt, phase: 'submitted', reference: 'r' },
  };
}

/** The transition rule, by the holder of the lease and its purpose. */
function ruleFor(
  lease: { bootId: string | undefined; leftMs: number; renewedAt: number; phase: string },
  by: Boot,
): { readonly takeOver: boolean; readonly expire: boolean } {
  const hasLapsed = lease.leftMs <= 0 || lease.renewedAt > NOW + MAX_CLOCK_SKEW_MS;
  if (hasLapsed) return { takeOver: true, expire: true };
  const isOfTheDead = by.isExclusive && lease.bootId !== by.id;
  if (!isOfTheDead) return { takeOver: false, expire: false };
  return { takeOver: lease.phase !== 'submitting', expire: true };
}

describe('leases of other boots', () => {
  it('are void exactly if the store is exclusive and no submission may be in flight', () => {
    forAllSync(2_000, [left, boot], (lease, by) => {
      const g = generation(lease);
      const rule = ruleFor(lease, by);
      const [taken, expired] = [decide(g, commandOf('take-over'), NOW, by), decide(g, commandOf('expire'), NOW, by)];
      expect('next' in taken, 'taken over').to.equal(rule.takeOver);
      expect('next' in expired, 'expired').to.equal(rule.expire);
      expect(mayBeTakenOver(g, NOW, by)).to.equal(rule.takeOver);
      expect(hasLiveLease(g, NOW, by)).to.equal(!rule.expire);
      if ('refused' in taken) return;
      expect(taken.next.lease).to.include({ fence: g.fence + 1, bootId: by.id });
      // The previous holder, really gone or not, can write nothing any more.
      for (const event of [
        'renew',
        'begin-attempt',
        'accepted',
        'succeed',
        'fail',
        'yield',
        'attempt-failed',
      ] as const) {
        expect(
          decide(taken.next, commandOf(event, g.fence), NOW, { id: 'other', isExclusive: true }),
          event,
        ).to.deep.equal({ refused: 'FENCE_STALE' });
      }
    });
  });

  it('carry the boot of their holder, through renewals and new fences', () => {
    const by: Boot = { id: 'mine', isExclusive: true };
    const lapsed = generation({ bootId: 'other', leftMs: 0, renewedAt: NOW - 10, phase: 'submitted' });
    let decision = decide(lapsed, commandOf('take-over'), NOW, by);
    for (const event of ['renew', 're-lease', 'renew'] as const) {
      if (!('next' in decision)) expect.fail(event);
      decision = decide(decision.next, commandOf(event, decision.next.fence), NOW + 1, by);
      expect(decision, event).to.have.nested.property('next.lease.bootId', 'mine');
    }
  });
});
