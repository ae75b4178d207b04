// Goal: on an exclusive store, leases of another boot are void at once, except for an attempt whose submission may be
// in flight; on a shared store none are. On both, fences grow and overtaken holders write nothing.
// Method: generations with every kind of lease, decided on by every kind of boot, against the rule written a second
// time.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Boot } from '../../../core/boot.js';
import { decide, hasLiveLease, mayBeTakenOver } from '../../../core/generation/decide.js';
import type { Generation } from '../../../core/generation/generation.js';
import { MAX_CLOCK_SKEW_MS } from '../../../core/settings.js';
import { commandOf, generationIn } from './generations.js';

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

/** The rule, by whose lease it is and what for. */
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
    fc.assert(
      fc.property(left, boot, (lease, by) => {
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
      }),
      { numRuns: 2_000 },
    );
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
