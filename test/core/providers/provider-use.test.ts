// Goal: workers that share a provider never have more slots than its limit, and never submit more in any minute than its
// limit, whatever dies, sleeps and wakes, and whatever their wall clocks are set to; and where slots are short each worker gets
// some in the end.
// Method: random histories of workers on one record, each using its share at any time until it ends, checked by
// counting at each of these times; and single decisions.
import { expect } from 'chai';
import fc from 'fast-check';
import {
  newProviderUse,
  renewShare,
  SHARE_MS,
  type Given,
  type ProviderLimits,
  type ProviderUse,
  type ShareRequest,
} from '../../../core/providers/provider-use.js';
import { OtherShares } from '../../../core/providers/provider-shares.js';
import { MAX_CLOCK_SKEW_MS } from '../../../core/settings.js';
import { forAllSync } from '../../harness/for-all.js';

/** So long that the time for clocks that differ does not hide it. */
const CALL_MS = MAX_CLOCK_SKEW_MS + 20_000;
const HOUR_MS = 3_600_000;
const HEALTH = { circuit: 'closed' } as const;

function request(worker: string, changes: Partial<ShareRequest> = {}): ShareRequest {
  return { worker, inUse: 0, wanted: 1, again: 0, left: 0, isPaused: false, health: HEALTH, ...changes };
}

/** The state of one process between two renewals of its share. */
class Renewing {
  private readonly others = new OtherShares();
  private last: { readonly counted: number; readonly at: number } | undefined;
  /** How far its wall clock is ahead of the true time, in milliseconds. */
  aheadMs = 0;

  constructor(
    private readonly name: string,
    private readonly limits: ProviderLimits,
  ) {}

  renew(use: ProviderUse, now: number, changes: Partial<ShareRequest> = {}): Given {
    const wall = now + this.aheadMs;
    const { last } = this;
    const asked = request(this.name, {
      ...changes,
      ...(last === undefined ? {} : { last: { counted: last.counted, passedMs: now - last.at } }),
    });
    const others = this.others.current(use.shares, this.name, { wall, monotonic: now }, CALL_MS);
    const given = renewShare(use, asked, { limits: this.limits, now: wall, others });
    this.last = { counted: given.counted, at: now };
    return given;
  }
}

/** A worker with a share: it may submit until `expiresAt`. */
interface User {
  readonly slots: number;
  /** The expiry of each submission that it was granted and has not made. */
  readonly submissions: readonly number[];
  /** Its tasks at the provider, which continue after the share has expired. */
  readonly inUse: number;
  readonly expiresAt: number;
  /** When its submissions began. */
  readonly began: readonly number[];
  readonly isDead: boolean;
}

const NOBODY: User = { slots: 0, submissions: [], inUse: 0, expiresAt: 0, began: [], isDead: false };

const STEP = fc.record({
  worker: fc.nat({ max: 3 }),
  // Also the last and the first millisecond on both sides of the end of a share.
  afterMs: fc.oneof(fc.nat({ max: 3_000 }), fc.nat({ max: 60_000 }), fc.constantFrom(1, SHARE_MS - 1, SHARE_MS)),
  ends: fc.nat({ max: 6 }),
  /** Asks for so many more tasks; undefined where it does not renew its share now. */
  renewsFor: fc.option(fc.nat({ max: 12 }), { nil: undefined }),
  /** Submits so many tasks, if it may. */
  submits: fc.nat({ max: 12 }),
  dies: fc.nat({ max: 30 }).map((n) => n === 0),
  /** Sets its wall clock to so much ahead. */
  sets: fc.option(
    fc.oneof(
      fc.integer({ min: -2 * HOUR_MS, max: 2 * HOUR_MS }),
      fc.constantFrom(-2, 2).map((h) => h * HOUR_MS),
    ),
    { nil: undefined, freq: 4 },
  ),
});

/** Four workers on one record, all of which have looked at it before anything is used. */
class History {
  readonly submittedAt: number[] = [];
  private now = 1_000_000;
  private use: ProviderUse;
  private readonly users: User[] = Array.from({ length: 4 }, () => NOBODY);
  private readonly processes: readonly Renewing[];

  constructor(limits: Required<ProviderLimits>) {
    this.use = newProviderUse('p', { limits, now: this.now });
    this.processes = this.users.map((_, index) => new Renewing(`w${index}`, limits));
    for (const process of this.processes) this.use = process.renew(this.use, this.now, { wanted: 0 }).next;
  }

  take({
    worker,
    afterMs,
    ends,
    renewsFor,
    submits,
    dies,
    sets,
  }: typeof STEP extends fc.Arbitrary<infer S> ? S : never): void {
    this.now += afterMs;
    const user = this.users[worker] ?? NOBODY;
    if (user.isDead) return;
    const process = this.processes[worker];
    if (sets !== undefined && process !== undefined) process.aheadMs = sets;
    let next: User = { ...user, inUse: Math.max(0, user.inUse - ends) };
    if (renewsFor !== undefined) next = this.renewed(worker, next, renewsFor);
    if (this.now < next.expiresAt) next = this.submitted(next, submits);
    this.users[worker] = { ...next, isDead: dies };
  }

  /** The slots that workers may use now, including those that calls in flight of expired shares may still take. */
  get slots(): number {
    return this.users.reduce((sum, { slots, inUse, expiresAt, began }) => {
      const underWay = began.filter((at) => this.now < at + CALL_MS).length;
      return sum + (this.now < expiresAt ? slots : Math.min(underWay, inUse));
    }, 0);
  }

  private renewed(worker: number, user: User, more: number): User {
    const { now } = this;
    const { inUse } = user;
    const left = user.submissions.filter((until) => now < until);
    const process = this.processes[worker];
    if (process === undefined) return user;
    const { next, slots, submissions } = process.renew(this.use, now, {
      inUse,
      wanted: inUse + more,
      left: left.length,
    });
    this.use = next;
    const expiresAt = now + SHARE_MS;
    const added = Array.from({ length: submissions }, () => expiresAt);
    return { ...user, slots, submissions: [...left, ...added], expiresAt };
  }

  private submitted(user: User, wanted: number): User {
    const left = user.submissions.filter((until) => this.now < until);
    const count = Math.max(0, Math.min(wanted, user.slots - user.inUse, left.length));
    const began = Array.from({ length: count }, () => this.now);
    this.submittedAt.push(...began);
    const { inUse } = user;
    return { ...user, inUse: inUse + count, submissions: left.slice(count), began: [...user.began, ...began] };
  }
}

describe('the shares of a provider', () => {
  it('never add up to more slots than the limit, and no minute sees more submissions than the limit', () => {
    forAllSync(
      1_000,
      [
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 40 }),
        fc.array(STEP, { minLength: 10, maxLength: 200 }),
      ],
      (maxConcurrent, maxSubmissionsPerMinute, steps) => {
        const history = new History({ maxConcurrent, maxSubmissionsPerMinute });
        for (const step of steps) {
          history.take(step);
          expect(history.slots, 'slots that may be used').to.be.at.most(maxConcurrent);
        }
        for (const [index, at] of history.submittedAt.entries()) {
          const inMinute = history.submittedAt.slice(index).filter((other) => other - at < 60_000).length;
          expect(inMinute, 'submissions in a minute').to.be.at.most(maxSubmissionsPerMinute);
        }
      },
    );
  });

  it('let no minute see more submissions than the limit when all that was given for ten seconds is used as late as it may be', () => {
    for (const maxSubmissionsPerMinute of [1, 4, 9, 60, 600]) {
      const limits = { maxSubmissionsPerMinute };
      let use = newProviderUse('p', { limits, now: 0 });
      const at: number[] = [];
      const [late, prompt] = [new Renewing('late', limits), new Renewing('prompt', limits)];
      for (let now = 0; now < 3 * 60_000; now += 100) {
        // One uses its submissions at the end of its share; the other one uses all immediately, whenever it has some.
        const given = (now < SHARE_MS ? late : prompt).renew(use, now, { wanted: 1_000 });
        use = given.next;
        for (let one = 0; one < given.submissions; one += 1) at.push(now < SHARE_MS ? now + SHARE_MS - 1 : now);
      }
      const most = Math.max(...at.map((from) => at.filter((other) => other >= from && other < from + 60_000).length));
      expect(most, `of ${maxSubmissionsPerMinute} a minute`).to.be.within(
        Math.floor(0.75 * maxSubmissionsPerMinute),
        maxSubmissionsPerMinute,
      );
    }
  });

  it('keep the slots of a lost worker until none of its calls can still run, from when its renewal was seen', () => {
    const limits = { maxConcurrent: 2 };
    const first = new Renewing('gone', limits).renew(newProviderUse('p', { limits, now: 0 }), 0, { wanted: 2 });
    expect(first.slots).to.equal(2);
    for (const aheadMs of [0, -2 * HOUR_MS, 2 * HOUR_MS]) {
      const next = new Renewing('next', limits);
      next.aheadMs = Math.min(0, aheadMs);
      const seenAt = 5;
      const at = (now: number) => next.renew(first.next, now).slots;
      expect([at(seenAt), at(seenAt + SHARE_MS)]).to.deep.equal([0, 0]);
      next.aheadMs = aheadMs;
      const overAt = seenAt + SHARE_MS + CALL_MS;
      expect([at(overAt - 1), at(overAt)], `${aheadMs} ms ahead`).to.deep.equal([0, 1]);
    }
  });

  it('wait for no call of a worker whose share was over long ago when a process first looks', () => {
    const limits = { maxConcurrent: 2 };
    const first = new Renewing('gone', limits).renew(newProviderUse('p', { limits, now: 0 }), 0, { wanted: 2 });
    const longAgo = SHARE_MS + CALL_MS + MAX_CLOCK_SKEW_MS;
    for (const [from, waitMs] of [
      [longAgo - 1, SHARE_MS + CALL_MS],
      [longAgo, SHARE_MS],
    ] as const) {
      const next = new Renewing('next', limits);
      const at = (afterMs: number) => next.renew(first.next, from + afterMs).slots;
      expect([at(0), at(waitMs - 1), at(waitMs)], `first look at ${from}`).to.deep.equal([0, 0, 1]);
    }
  });

  it('are not taken from a worker that is alive and whose clock is hours behind', () => {
    const limits = { maxConcurrent: 2 };
    const alive = new Renewing('alive', limits);
    alive.aheadMs = -2 * HOUR_MS;
    const next = new Renewing('next', limits);
    let use = alive.renew(newProviderUse('p', { limits, now: 0 }), 0, { wanted: 2 }).next;
    for (let now = 1_000; now < 10 * 60_000; now += 1_000) {
      const given = next.renew(use, now);
      expect(given.slots, `at ${now}`).to.equal(0);
      use = given.next;
      if (now % SHARE_MS === 0) use = alive.renew(use, now, { inUse: 2, wanted: 2 }).next;
    }
  });

  it('do not wait for a time that a clock far ahead has written', () => {
    const limits = { maxConcurrent: 2, maxSubmissionsPerMinute: 4 };
    const ahead = 7 * 86_400_000;
    const gone = new Renewing('ahead', limits);
    gone.aheadMs = ahead;
    const wrong = gone.renew(newProviderUse('p', { limits, now: ahead }), 0, { wanted: 2 });
    expect([wrong.slots, wrong.submissions]).to.deep.equal([2, 1]);
    let use = wrong.next;
    const next = new Renewing('next', limits);
    const at = (now: number) => {
      const given = next.renew(use, now, { wanted: 2 });
      use = given.next;
      return [given.slots, given.submissions];
    };
    const lapsedAt = SHARE_MS + CALL_MS;
    expect([at(0), at(lapsedAt - 1), at(lapsedAt)]).to.deep.equal([
      [0, 0],
      [0, 0],
      [2, 1],
    ]);
    expect(use.idle?.map(({ seenAt }) => seenAt <= lapsedAt)).to.deep.equal([true]);
  });

  it('refill neither sooner nor later because a clock is set', () => {
    const limits = { maxSubmissionsPerMinute: 6 };
    const givenWith = (setsMs: number) => {
      const process = new Renewing('w', limits);
      let use = newProviderUse('p', { limits, now: 0 });
      const given: number[] = [];
      for (let now = 0; now < 5 * 60_000; now += 1_000) {
        if (now === 90_000) process.aheadMs = setsMs;
        const renewed = process.renew(use, now, { wanted: 100 });
        use = renewed.next;
        if (renewed.submissions > 0) given.push(now);
      }
      return given;
    };
    expect(givenWith(-2 * HOUR_MS)).to.deep.equal(givenWith(0));
    expect(givenWith(2 * HOUR_MS)).to.deep.equal(givenWith(0));
  });

  it('refill only by what passes while a process runs, as a clock may have been set before', () => {
    const limits = { maxSubmissionsPerMinute: 6 };
    let use = new Renewing('gone', limits).renew(newProviderUse('p', { limits, now: 0 }), 0, { wanted: 2 }).next;
    const next = new Renewing('next', limits);
    next.aheadMs = 2 * HOUR_MS;
    const given = (now: number) => {
      const renewed = next.renew(use, now, { wanted: 2 });
      use = renewed.next;
      return renewed.submissions;
    };
    expect([given(1_000), given(2_000), given(15_000)]).to.deep.equal([0, 0, 1]);
  });

  for (const [workers, maxConcurrent] of [
    [2, 1],
    [3, 2],
    [3, 6],
  ] as const) {
    it(`reach each of ${workers} busy workers where there are ${maxConcurrent} slots`, () => {
      const limits = { maxConcurrent };
      let now = 0;
      let use = newProviderUse('p', { limits, now });
      const processes = Array.from({ length: workers }, (_, index) => new Renewing(`w${index}`, limits));
      const begun = Array.from({ length: workers }, () => 0);
      const held = Array.from({ length: workers }, () => 0);
      for (let round = 0; round < 60; round += 1) {
        const worker = round % workers;
        now += 1_000;
        // Its tasks have ended since, and more wait.
        const given = processes[worker]!.renew(use, now, { wanted: 9 });
        use = given.next;
        begun[worker] = (begun[worker] ?? 0) + given.slots;
        held[worker] = given.slots;
        expect(held.reduce((sum, one) => sum + one, 0)).to.be.at.most(maxConcurrent);
      }
      for (const count of begun) expect(count).to.be.above(3);
    });
  }

  it('give everything to a worker that is alone', () => {
    const limits = { maxConcurrent: 8 };
    const terms = { limits, now: 0, others: [] };
    expect(renewShare(newProviderUse('p', terms), request('w', { wanted: 30 }), terms).slots).to.equal(8);
  });

  it('leave nothing of a worker that wants nothing', () => {
    const terms = { limits: { maxConcurrent: 1 }, now: 0, others: [] };
    const { next } = renewShare(newProviderUse('p', terms), request('w'), terms);
    expect(next.shares).to.have.length(1);
    expect(renewShare(next, request('w', { wanted: 0 }), { ...terms, now: 5 }).next.shares).to.deep.equal([]);
  });

  it('give no submission that cannot be used at once: none for those without a slot, or while nobody may submit', () => {
    const limits = { maxConcurrent: 3, maxSubmissionsPerMinute: 60 };
    const terms = { limits, now: 0, others: [] };
    const given = (changes: Partial<ShareRequest>) =>
      renewShare(newProviderUse('p', terms), request('w', changes), terms).submissions;
    expect([
      given({ inUse: 2, wanted: 9 }),
      given({ inUse: 3, wanted: 9 }),
      given({ inUse: 3, wanted: 9, again: 2 }),
      given({ inUse: 0, wanted: 9, isPaused: true }),
      given({ inUse: 1, wanted: 9, again: 1, isPaused: true }),
    ]).to.deep.equal([1, 0, 2, 0, 1]);
  });

  it('let no minute see more submissions than the limit where clocks differ by hours', () => {
    forAllSync(
      1_000,
      [
        fc.integer({ min: 1, max: 90 }),
        fc.array(fc.integer({ min: 0, max: 2 * HOUR_MS }), { minLength: 2, maxLength: 4 }),
        // Renewals at any time, and those of workers who renew as often as they may wait.
        fc.array(
          fc.record({ worker: fc.nat({ max: 3 }), afterMs: fc.oneof(fc.nat({ max: 8_000 }), fc.nat({ max: 60_000 })) }),
          { minLength: 30, maxLength: 200 },
        ),
      ],
      (maxSubmissionsPerMinute, aheadMs, steps) => {
        const limits = { maxSubmissionsPerMinute };
        let now = 1_000_000;
        let use = newProviderUse('p', { limits, now });
        const submittedAt: number[] = [];
        const processes = Array.from({ length: 4 }, (_, index) => new Renewing(`w${index}`, limits));
        for (const [index, process] of processes.entries()) process.aheadMs = aheadMs[index] ?? 0;
        for (const { worker, afterMs } of steps) {
          now += afterMs;
          const given = processes[worker]!.renew(use, now, { wanted: 1_000 });
          use = given.next;
          for (let one = 0; one < given.submissions; one += 1)
            submittedAt.push(one % 2 === 0 ? now : now + SHARE_MS - 1);
        }
        submittedAt.sort((a, b) => a - b);
        for (const [index, at] of submittedAt.entries()) {
          const inMinute = submittedAt.slice(index).filter((other) => other - at < 60_000).length;
          expect(inMinute).to.be.at.most(maxSubmissionsPerMinute);
        }
      },
    );
  });

  it('let about as many submissions through as the limit says, over hours', () => {
    for (const maxSubmissionsPerMinute of [1, 2, 7, 60, 600]) {
      const limits = { maxSubmissionsPerMinute };
      let use = newProviderUse('p', { limits, now: 0 });
      let count = 0;
      const process = new Renewing('w', limits);
      for (let now = 0; now < 3_600_000; now += 500) {
        const given = process.renew(use, now, { wanted: 1_000 });
        use = given.next;
        count += given.submissions;
      }
      expect(count / 60, `of ${maxSubmissionsPerMinute} a minute`).to.be.within(
        maxSubmissionsPerMinute * 0.65,
        maxSubmissionsPerMinute,
      );
    }
  });
});
