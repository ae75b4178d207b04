// Goal: every implementation delivers a scheduled wake-up at least once, not before its time, no more at once than
// allowed, again after a failure, and nothing after a stop; undelivered wake-ups are kept.
// Method: handlers that record what they receive; the subject moves the time, and the test waits for what must happen.
import { expect } from 'chai';
import type { WakeUps, WakeUpSubject } from '../../core/ports/wake-ups.js';
import { settled } from '../fixtures/clocks.js';
import { aboutGeneration, uuidAt } from '../fixtures/stored-records.js';
import type { ContractSubject } from './subject.js';
import { type WakeUpsBench, wakeUpSequences, type WakeUpsSupports } from './wake-up-sequences.js';

export function wakeUpsContract(subject: ContractSubject<WakeUps, WakeUpsSupports>): void {
  describe(`WakeUps contract: ${subject.name}`, () => {
    let wakeUps: WakeUps;
    let test = 0;
    beforeEach(async () => {
      wakeUps = await subject.open();
    });
    afterEach(async () => {
      test += 1;
      await subject.close(wakeUps);
    });

    async function until(isSo: () => boolean): Promise<void> {
      const ours = test;
      while (!isSo()) {
        await settled();
        if (!isSo()) await subject.supports.elapse(20);
        if (test !== ours) throw new Error('what was waited for did not happen in the time of the test');
      }
    }

    const bench: WakeUpsBench = { wakeUps: () => wakeUps, supports: subject.supports, until };
    describe('when', () => timing(bench));
    describe('failures', () => failures(bench));
    describe('bounds', () => bounds(bench));
    describe('stopping', () => stopping(bench));
    wakeUpSequences(bench);
  });
}

function timing({ wakeUps, supports, until }: WakeUpsBench): void {
  const delivered: string[] = [];
  beforeEach(() => {
    delivered.length = 0;
  });
  const note = async ({ id }: WakeUpSubject): Promise<void> => {
    delivered.push(id);
  };

  it('delivers nothing before it is started, and then what is due', async () => {
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now() - 1);
    await supports.elapse(50);
    expect(delivered).to.deep.equal([]);
    await wakeUps().start(note, 4);
    await until(() => delivered.length === 1);
    expect(delivered).to.deep.equal([uuidAt(1)]);
  });

  it('distinguishes subjects of one id and different kinds, and returns each unchanged', async () => {
    const subjects: readonly WakeUpSubject[] = ['generation', 'webhook-delivery', 'x'].map((kind) => ({
      kind,
      id: uuidAt(1),
    }));
    const given: WakeUpSubject[] = [];
    for (const subject of subjects) await wakeUps().schedule(subject, supports.now() - 1);
    await wakeUps().start(async (subject) => {
      given.push(subject);
    }, 4);
    await until(() => given.length >= subjects.length);
    await supports.elapse(supports.quietMs);
    expect(given).to.have.deep.members(subjects);
  });

  it('refuses a subject that could be mistaken for another one', async () => {
    for (const subject of [
      { kind: '', id: 'a' },
      { kind: 'a:b', id: 'c' },
      { kind: 'A', id: 'a' },
      { kind: 'a', id: 'b:c' },
      { kind: 'generation', id: 'x:y' },
      { kind: 'a', id: '' },
    ]) {
      const failure: unknown = await wakeUps()
        .schedule(subject, supports.now())
        .catch((error: unknown) => error);
      expect(String(failure), JSON.stringify(subject)).to.include('Broken invariant');
    }
  });

  it('delivers immediately what is scheduled for now', async () => {
    await wakeUps().start(note, 4);
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
    await until(() => delivered.includes(uuidAt(1)));
  });

  it('delivers once, at its time and not before', async () => {
    await wakeUps().start(note, 4);
    const at = supports.now() + 400;
    let deliveredAt = 0;
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), at);
    await until(() => {
      if (delivered.length > 0) deliveredAt = supports.now();
      return delivered.length > 0;
    });
    expect(deliveredAt).to.be.at.least(at);
    await supports.elapse(supports.quietMs);
    expect(delivered).to.deep.equal([uuidAt(1)]);
  });

  it('uses the last schedule of a generation, earlier or later', async () => {
    await wakeUps().start(note, 4);
    const start = supports.now();
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), start + 200);
    await wakeUps().schedule(aboutGeneration(uuidAt(2)), start + 3_600_000);
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), start + 3_600_000);
    await wakeUps().schedule(aboutGeneration(uuidAt(2)), start + 200);
    await until(() => delivered.length > 0);
    await supports.elapse(supports.quietMs);
    expect(delivered).to.deep.equal([uuidAt(2)]);
  });

  it('delivers again what is scheduled again after it was done', async () => {
    await wakeUps().start(note, 4);
    for (const count of [1, 2, 3]) {
      await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
      await until(() => delivered.length === count);
    }
  });
}

function failures({ wakeUps, supports, until }: WakeUpsBench): void {
  it('delivers again, later, what a handler rejected, until it resolves', async () => {
    let calls = 0;
    await wakeUps().start(async () => {
      calls += 1;
      if (calls < 3) throw new Error('not yet');
    }, 4);
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
    await until(() => calls === 3);
    await supports.elapse(supports.quietMs);
    expect(calls).to.equal(3);
  });

  it('delivers the others although one fails', async () => {
    const delivered = new Set<string>();
    await wakeUps().start(async ({ id }) => {
      if (id === uuidAt(0)) throw new Error('never');
      delivered.add(id);
    }, 1);
    for (let n = 0; n < 5; n += 1) await wakeUps().schedule(aboutGeneration(uuidAt(n)), supports.now());
    await until(() => delivered.size === 4);
  });
}

function bounds({ wakeUps, supports, until }: WakeUpsBench): void {
  it('runs no more handlers than allowed, and eventually delivers all', async () => {
    let underWay = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const delivered = new Set<string>();
    for (let n = 0; n < 20; n += 1) await wakeUps().schedule(aboutGeneration(uuidAt(n)), supports.now() - n);
    await wakeUps().start(async ({ id }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise<void>((resolve) => {
        ends.push(resolve);
      });
      underWay -= 1;
      delivered.add(id);
    }, 3);
    await until(() => underWay === 3);
    await supports.elapse(50);
    expect(underWay).to.equal(3);
    await until(() => {
      ends.shift()?.();
      return delivered.size === 20;
    });
    expect(most).to.equal(3);
  });

  it('does not deliver a generation while its handler runs, and delivers it afterwards if it was scheduled again', async () => {
    let underWay = 0;
    let most = 0;
    let calls = 0;
    let end: () => void = () => undefined;
    await wakeUps().start(async () => {
      calls += 1;
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      underWay -= 1;
    }, 4);
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
    await until(() => calls === 1);
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
    await supports.elapse(50);
    expect(calls).to.equal(1);
    end();
    await until(() => calls === 2);
    end();
    await until(() => underWay === 0);
    expect(most).to.equal(1);
  });
}

function stopping({ wakeUps, supports, until }: WakeUpsBench): void {
  it('stops without ever having been started', async () => {
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
    await wakeUps().stop();
  });

  it('waits for the running handlers, and starts none afterwards', async () => {
    let calls = 0;
    let stopped = false;
    let end: () => void = () => undefined;
    await wakeUps().start(async () => {
      calls += 1;
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    }, 4);
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
    await until(() => calls === 1);
    const ending = wakeUps()
      .stop()
      .then(() => {
        stopped = true;
      });
    await wakeUps().schedule(aboutGeneration(uuidAt(2)), supports.now());
    await supports.elapse(50);
    expect(stopped).to.equal(false);
    end();
    await ending;
    await supports.elapse(supports.quietMs);
    expect(calls).to.equal(1);
  });

  it('leaves only undelivered wake-ups to the next process', async function undelivered() {
    const { reopen } = supports;
    if (reopen === undefined) {
      console.log('      skipped: these wake-ups are not kept over a restart');
      this.skip();
    }
    const first: string[] = [];
    await wakeUps().start(async ({ id }) => {
      first.push(id);
    }, 4);
    await wakeUps().schedule(aboutGeneration(uuidAt(1)), supports.now());
    await until(() => first.length === 1);
    const at = supports.now() + 300;
    await wakeUps().schedule(aboutGeneration(uuidAt(2)), at);
    await wakeUps().schedule(aboutGeneration(uuidAt(3)), at);
    await wakeUps().stop();
    const next = await reopen(wakeUps());
    const second: string[] = [];
    await next.start(async ({ id }) => {
      second.push(id);
    }, 4);
    await until(() => second.length === 2);
    await supports.elapse(supports.quietMs);
    expect(second.toSorted()).to.deep.equal([uuidAt(2), uuidAt(3)]);
    await next.stop();
  });
}
