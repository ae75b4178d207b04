import { expect } from 'chai';
import fc from 'fast-check';
import {
  announced,
  decideDelivery,
  type DeliveryCommand,
  MAX_ATTEMPTS,
  MAX_LOGGED_ATTEMPTS,
  MAX_LOGGED_BODIES,
  retryDelayMs,
} from '../../../core/webhooks/decide.js';
import { type Delivery, DELIVERY_TRANSITIONS, isOpen } from '../../../core/webhooks/delivery.js';
import { isLater, WEBHOOK_EVENTS } from '../../../core/webhooks/endpoint.js';
import { Paces } from '../../../core/webhooks/send-delivery.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: a delivery never sends an older event after a newer one, is sent by one process at a time, and ends in one of
// the states that its table allows, through any sequence of commands.
// Method: random commands by two processes at random times beside a model of each process's permitted commands; the
// schedule in numbers.

const START = Date.UTC(2030, 0, 1);
const LEASE_MS = 90_000;

function newDelivery(event: Delivery['event'] = 'generation.running', isDisabled = false): Delivery {
  return announced(
    {
      deliveryId: uuidAt(1),
      accountId: uuidAt(2),
      appId: uuidAt(3),
      endpointId: uuidAt(4),
      generationId: uuidAt(5),
      event,
      occurredAt: START,
      createdAt: START,
    },
    isDisabled,
  );
}

const anyCommand: fc.Arbitrary<DeliveryCommand> = fc.oneof(
  fc.record({
    event: fc.constant('announce' as const),
    of: fc.constantFrom(...WEBHOOK_EVENTS),
    at: fc.constant(START + 1),
    isDisabled: fc.boolean(),
  }),
  fc.record({ event: fc.constant('begin' as const), token: fc.constantFrom('a', 'b'), leaseMs: fc.constant(LEASE_MS) }),
  fc.record({
    event: fc.constant('end-attempt' as const),
    token: fc.constantFrom('a', 'b'),
    end: fc.constantFrom(
      { result: 'delivered' as const, status: 200 },
      { result: 'failed' as const, status: 500, body: { bytes: 4, text: 'busy' } },
      { result: 'unknown' as const },
    ),
    afterFailure: fc.constantFrom({ retryMs: 5_000 }, 'exhausted' as const, 'disabled' as const),
  }),
  fc.constantFrom<DeliveryCommand>({ event: 'disable' }, { event: 'cancel' }, { event: 'replay' }),
);

describe('decideDelivery', () => {
  it('keeps the bodies of the newest ten answers', () => {
    let delivery = newDelivery('generation.failed');
    for (let n = 0; n < 25; n += 1) {
      const now = START + n;
      const commands: readonly DeliveryCommand[] = [
        { event: 'replay' },
        { event: 'begin', token: 'a', leaseMs: LEASE_MS },
        {
          event: 'end-attempt',
          token: 'a',
          end: { result: 'failed', status: 500, body: { bytes: 2, text: `${n}` } },
          afterFailure: 'exhausted',
        },
      ];
      for (const command of commands) {
        const decision = decideDelivery(delivery, command, now);
        if ('next' in decision) delivery = decision.next;
      }
    }
    expect(delivery.attempts.map(({ body }) => body?.text)).to.deep.equal([
      ...Array.from({ length: 10 }, () => undefined),
      ...Array.from({ length: 10 }, (_, n) => `${n + 15}`),
    ]);
  });

  it('keeps order, exclusive sending and the table of states through any commands', () => {
    forAllSync(
      100,
      [
        fc.array(fc.record({ command: anyCommand, afterMs: fc.constantFrom(0, 1, 5_000, LEASE_MS) }), {
          maxLength: 40,
        }),
      ],
      (steps) => {
        let now = START;
        let delivery = newDelivery();
        let sending: { token: string; until: number } | undefined;
        for (const step of steps) {
          now += step.afterMs;
          const decision = decideDelivery(delivery, step.command, now);
          if ('refused' in decision) continue;
          const { next } = decision;
          expect(next.version).to.equal(delivery.version + 1);
          expect(DELIVERY_TRANSITIONS[delivery.state][step.command.event]).to.include(next.state);
          expect(isLater(delivery.event, next.event), 'an older event after a newer one').to.equal(false);
          expect(next.attempts.length).to.be.at.most(MAX_LOGGED_ATTEMPTS);
          expect(next.attempts.filter(({ body }) => body !== undefined).length).to.be.at.most(MAX_LOGGED_BODIES);
          expect(isOpen(next)).to.equal(next.nextAttemptAt !== undefined);
          if (step.command.event === 'begin') {
            expect(sending === undefined || sending.until <= now, 'two send at once').to.equal(true);
            expect(next.lease?.event, 'what is sent is the newest event').to.equal(delivery.event);
            sending = { token: step.command.token, until: now + LEASE_MS };
          }
          if (step.command.event === 'end-attempt') sending = undefined;
          expect(next.dueAt).to.be.greaterThan(now);
          delivery = next;
        }
      },
    );
  });

  it('sends the end that was announced while the start was being sent, whatever became of that', () => {
    for (const result of ['delivered', 'failed', 'unknown'] as const) {
      const begun = after(newDelivery(), { event: 'begin', token: 't', leaseMs: LEASE_MS });
      const ended = after(begun, { event: 'announce', of: 'generation.failed', at: START + 5, isDisabled: false });
      expect(refusal(ended, { event: 'begin', token: 'u', leaseMs: LEASE_MS })).to.equal('LEASED');
      const told = after(ended, {
        event: 'end-attempt',
        token: 't',
        end: { result },
        afterFailure: { retryMs: 9_000 },
      });
      expect(told).to.include({ state: 'pending', event: 'generation.failed', attemptsMade: 0, nextAttemptAt: START });
      expect(told.attempts).to.deep.equal([{ event: 'generation.running', startedAt: START, durationMs: 0, result }]);
    }
  });

  it('sends again what was replayed while it was being sent, whatever became of that', () => {
    for (const result of ['delivered', 'failed', 'unknown'] as const) {
      const begun = after(newDelivery(), { event: 'begin', token: 't', leaseMs: LEASE_MS });
      const replayed = after(begun, { event: 'replay' });
      expect(refusal(replayed, { event: 'begin', token: 'u', leaseMs: LEASE_MS })).to.equal('LEASED');
      const told = after(replayed, { event: 'end-attempt', token: 't', end: { result }, afterFailure: 'exhausted' });
      expect(told).to.include({ state: 'pending', attemptsMade: 0, nextAttemptAt: START });
      const again = after(told, { event: 'begin', token: 'v', leaseMs: LEASE_MS });
      expect(
        after(again, { event: 'end-attempt', token: 'v', end: { result: 'delivered' }, afterFailure: 'exhausted' }),
        'once',
      ).to.include({ state: 'delivered', attemptsMade: 1 });
    }
  });

  it('refuses a second event of the same rank: a generation ends once', () => {
    const ended = newDelivery('generation.succeeded');
    for (const later of ['generation.succeeded', 'generation.failed', 'generation.running'] as const)
      expect(refusal(ended, { event: 'announce', of: later, at: START, isDisabled: false })).to.equal('NOTHING_TO_DO');
  });

  it('logs what a process left that ended, once another one begins', () => {
    const left = after(newDelivery(), { event: 'begin', token: 't', leaseMs: LEASE_MS });
    const later = decideDelivery(left, { event: 'begin', token: 'u', leaseMs: LEASE_MS }, START + LEASE_MS);
    expect('next' in later && later.next.attempts).to.deep.equal([
      { event: 'generation.running', startedAt: START, durationMs: 0, result: 'unknown' },
    ]);
    expect('next' in later && later.next.attemptsMade).to.equal(2);
    expect(
      refusal('next' in later ? later.next : left, {
        event: 'end-attempt',
        token: 't',
        end: { result: 'delivered', status: 200 },
        afterFailure: 'exhausted',
      }),
    ).to.equal('STALE');
  });

  it('sends nothing of one that is disabled, until it is replayed', () => {
    const disabled = newDelivery('generation.succeeded', true);
    expect(disabled).to.include({ state: 'disabled' }).and.not.have.property('nextAttemptAt');
    expect(refusal(disabled, { event: 'begin', token: 't', leaseMs: LEASE_MS })).to.equal('NOT_ALLOWED');
    expect(after(disabled, { event: 'replay' })).to.include({ state: 'pending', nextAttemptAt: START });
  });

  it('does nothing more with one that is cancelled', () => {
    const cancelled = after(newDelivery(), { event: 'cancel' });
    const commands: readonly DeliveryCommand[] = [
      { event: 'announce', of: 'generation.succeeded', at: START, isDisabled: false },
      { event: 'begin', token: 't', leaseMs: LEASE_MS },
      { event: 'replay' },
      { event: 'disable' },
    ];
    for (const one of commands) expect(refusal(cancelled, one), one.event).to.equal('NOT_ALLOWED');
  });
});

describe('the schedule of attempts', () => {
  it('has ten attempts over 75 hours, each delay by a tenth shorter or longer at most', () => {
    let shortest = 0;
    let longest = 0;
    for (let made = 1; made < MAX_ATTEMPTS; made += 1) {
      const delays = Array.from({ length: 500 }, (_, n) => delayOf(n, made));
      const middle = (Math.min(...delays) + Math.max(...delays)) / 2;
      expect(Math.max(...delays) / Math.min(...delays), `delay ${made}`).to.be.within(1.15, 1.1 / 0.9 + 0.001);
      expect(new Set(delays).size, 'the delays of many deliveries differ').to.be.greaterThan(400);
      shortest += middle * 0.9;
      longest += middle * 1.1;
    }
    expect((shortest + longest) / 2 / 3_600_000).to.be.within(74, 76);
    expect(retryDelayMs({ deliveryId: uuidAt(1), attemptsMade: MAX_ATTEMPTS })).to.equal(undefined);
  });

  it('waits as long as the receiver asks, a day at most, and never less than its own delay', () => {
    const delivery = { deliveryId: digestId(7), attemptsMade: 1 };
    const own = retryDelayMs(delivery) as number;
    expect(retryDelayMs(delivery, 1)).to.equal(own);
    expect(retryDelayMs(delivery, 60_000)).to.equal(60_000);
    expect(retryDelayMs(delivery, 9e12)).to.equal(86_400_000);
  });
});

/** An id as deliveries have one: all its digits count. */
function digestId(n: number): string {
  const digits = ((n + 1) * 2_654_435_761).toString(16).padStart(12, '0').slice(-8);
  return `${digits}-${digits.slice(0, 4)}-8${digits.slice(1, 4)}-8${digits.slice(2, 5)}-${digits}${digits.slice(0, 4)}`;
}

function delayOf(n: number, attemptsMade: number): number {
  return retryDelayMs({ deliveryId: digestId(n), attemptsMade }) as number;
}

function after(delivery: Delivery, command: DeliveryCommand): Delivery {
  const decision = decideDelivery(delivery, command, START);
  if ('refused' in decision) throw new Error(`${command.event} was refused: ${decision.refused}`);
  return decision.next;
}

function refusal(delivery: Delivery, command: DeliveryCommand): string | undefined {
  const decision = decideDelivery(delivery, command, START);
  return 'refused' in decision ? decision.refused : undefined;
}

// Goal: postponed deliveries are woken again within minutes, and the cost is bounded however many there are.
// Method: backlogs of several sizes that no process takes are postponed again each time they are woken.

const MINUTE_MS = 60_000;
const HANGS_MS = 15_000;
const AT_ONCE = 4;

/** Postpones a backlog for an hour, again each time it is woken; returns the times of each delivery. */
function putOff(paces: Paces, count: number, beganAt = 0): number[][] {
  const times = Array.from({ length: count }, (): number[] => [beganAt]);
  for (let now = beganAt; now < beganAt + 60 * MINUTE_MS; now += 1_000)
    for (const of of times)
      if ((of.at(-1) ?? 0) <= now) of.push(paces.nextAt('endpoint', 256, Math.max(now, of.at(-1) ?? 0)));
  return times;
}

function longestPause(times: readonly (readonly number[])[]): number {
  return Math.max(...times.flatMap((of) => of.slice(1).map((at, index) => at - (of[index] ?? 0))));
}

describe('the paces of what was put off', () => {
  let paces: Paces;
  beforeEach(() => {
    paces = new Paces(AT_ONCE);
    for (let sent = 0; sent < 50; sent += 1) paces.took('endpoint', HANGS_MS);
  });

  it('wake a backlog of an endpoint that hangs every five minutes', () => {
    const times = putOff(paces, 1_000);
    expect(longestPause(times)).to.be.within(5 * MINUTE_MS, 6 * MINUTE_MS);
    expect(Math.max(...times.map(({ length }) => length))).to.be.at.most(14);
  });

  it('wake no more than twenty a second of a long one', () => {
    const times = putOff(paces, 30_000);
    const perMinute = new Map<number, number>();
    for (const at of times.flatMap((of) => of.slice(1)))
      perMinute.set(Math.floor(at / MINUTE_MS), (perMinute.get(Math.floor(at / MINUTE_MS)) ?? 0) + 1);
    expect(Math.max(...perMinute.values())).to.be.within(1_000, 1_201);
    expect(longestPause(times)).to.be.within(20 * MINUTE_MS, 31 * MINUTE_MS);
  });

  it('wake it as fast as its endpoint is, when that is faster', () => {
    for (let sent = 0; sent < 50; sent += 1) paces.took('endpoint', 40);
    const at = Array.from({ length: 1_000 }, () => paces.nextAt('endpoint', 256, 0));
    expect(at.at(-1)).to.be.within(10_000, 14_000);
  });

  it('wake within an hour what was put off by a clock that was far ahead', () => {
    paces.nextAt('endpoint', 256, 1_000 * MINUTE_MS);
    expect(paces.nextAt('endpoint', 256, 0)).to.be.at.most(60 * MINUTE_MS);
  });
});
