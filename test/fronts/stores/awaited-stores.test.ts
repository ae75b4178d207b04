import { expect } from 'chai';
import { AwaitedSchedules } from '../../../apps/stores/awaited-schedules.js';
import { AwaitedObjects } from '../../../apps/stores/open-objects.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { MemoryObjectStore } from '../../adapters/memory/object-store.js';
import { MemoryWakeUps, MemoryWakeUpTable } from '../../adapters/memory/wake-ups.js';
import { bytesOf, streamOf } from '../../fixtures/byte-streams.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { Gate, intercepted, type Interceptor } from '../../fixtures/intercepted.js';

// Goal: a process that stops does not abort the wake-ups that it is scheduling, whether or not a caller awaits them.
// Method: schedules are held at a gate, or made to fail, while the close is in progress.

function schedules(interceptor: Interceptor): AwaitedSchedules {
  const wakeUps = new MemoryWakeUps({ clock: new ManualClock(), table: new MemoryWakeUpTable() });
  return new AwaitedSchedules(intercepted('wakeUps', wakeUps, interceptor));
}

/** Whether it has settled once everything that can continue has continued. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (
    (await Promise.race([
      promise,
      new Promise((resolve) => {
        setImmediate(resolve, pending);
      }),
    ])) !== pending
  );
}

describe('schedules in progress when a process stops', () => {
  it('are completed first, including those started meanwhile', async () => {
    const gates = [new Gate(), new Gate()];
    let begun = 0;
    const waited = schedules(async (call) => {
      const gate = gates[begun];
      begun += 1;
      await gate?.wait();
      return call.proceed();
    });
    void waited.schedule({ kind: 'generation', id: 'one' }, 0);
    const closed = waited.close();
    expect(await isSettled(closed), 'the first one is under way').to.equal(false);
    void waited.schedule({ kind: 'generation', id: 'two' }, 0);
    gates[0]?.open();
    expect(await isSettled(closed), 'the second one is under way').to.equal(false);
    gates[1]?.open();
    await closed;
    await waited.close();
  });

  it('do not block when they fail, and their callers get the error', async () => {
    const down = new StoreUnavailable('The line broke.');
    const waited = schedules(() => Promise.reject(down));
    const told = waited.schedule({ kind: 'generation', id: 'one' }, 0).catch((error: unknown) => error);
    await waited.close();
    expect(await told).to.equal(down);
  });
});

// Goal: a process that started while its object store was unavailable signs nothing and reads nothing until the store
// is opened and found to be the right one, and retries at bounded intervals; every fault is logged once.
// Method: a store in memory whose opening fails on demand, on a clock that the test moves; attempts are counted.

const AWAY = new StoreUnavailable('It does not answer.');
const TARGET = { key: 'staging/a', mediaType: 'image/png', byteSize: 1 };

describe('an object store that was unavailable at the start', () => {
  let clock: ManualClock;
  let tries: number[];
  let events: string[];
  let refusal: Error | undefined;
  let mismatch: Error | undefined;
  let whileChecked: () => Promise<void>;
  let objects: AwaitedObjects;

  beforeEach(() => {
    clock = new ManualClock();
    tries = [];
    events = [];
    refusal = AWAY;
    mismatch = undefined;
    whileChecked = () => Promise.resolve();
    const opened = {
      store: new MemoryObjectStore({ clock }),
      identity: () => Promise.resolve('an id'),
      close: async () => {
        events.push('closed');
      },
    };
    const open = () => {
      tries.push(clock.now());
      return refusal ? Promise.reject(refusal) : Promise.resolve(opened);
    };
    const tell = (event: string): void => {
      events.push(event);
    };
    objects = new AwaitedObjects({ open, clock, log: { info: tell, warn: tell } }, AWAY);
    objects.begin(async (identity) => {
      expect(await identity()).to.equal('an id');
      await whileChecked();
      if (mismatch) throw mismatch;
    });
  });

  const signs = () =>
    objects.signPut({ ...TARGET, expiresAt: clock.now() + 60_000 }).then(
      () => true,
      (error: unknown) => (error instanceof StoreUnavailable ? false : Promise.reject(error as Error)),
    );

  it('gets no calls, and is tried again at intervals that grow to ten seconds', async () => {
    for (const call of [
      signs(),
      objects.signGet({ key: 'objects/a', mediaType: 'image/png', filename: 'a.png', expiresAt: clock.now() + 1 }).then(
        () => true,
        () => false,
      ),
      objects.stat('objects/a').then(
        () => true,
        () => false,
      ),
      objects.read('objects/a').then(
        () => true,
        () => false,
      ),
      objects.remove('objects/a').then(
        () => true,
        () => false,
      ),
      objects.write('objects/a', streamOf(bytesOf('x')), { mediaType: 'image/png', maxBytes: 1 }).then(
        () => true,
        () => false,
      ),
      objects.copy('objects/a', 'objects/b', 'x').then(
        () => true,
        () => false,
      ),
    ])
      expect(await call).to.equal(false);
    await clock.advance(60_000);
    const pauses = tries.map((at, index) => at - (tries[index - 1] ?? Date.UTC(2030, 0, 1)));
    expect(pauses).to.deep.equal([1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000]);
    expect(events).to.deep.equal(['object store not reached at the start']);
  });

  it('is used once it was opened and identified', async () => {
    await clock.advance(5_000);
    expect(await signs()).to.equal(false);
    refusal = undefined;
    await clock.advance(10_000);
    expect(await signs()).to.equal(true);
    const asked = tries.length;
    await clock.advance(600_000);
    expect([tries.length, events]).to.deep.equal([
      asked,
      ['object store not reached at the start', 'object store reached'],
    ]);
  });

  it('stays closed while it is refused or wrong, which is logged once for each reason, and recovers once fixed', async () => {
    refusal = new Error('There is no such bucket.');
    await clock.advance(60_000);
    refusal = undefined;
    mismatch = new Error('These are other objects.');
    await clock.advance(60_000);
    expect(await signs()).to.equal(false);
    expect(events.filter((event) => event !== 'closed')).to.deep.equal([
      'object store not reached at the start',
      'object store refused',
      'object store refused',
    ]);
    mismatch = undefined;
    await clock.advance(10_000);
    expect(await signs()).to.equal(true);
  });

  it('closes a store that is not the right one, each time it was opened', async () => {
    [refusal, mismatch] = [undefined, new Error('Other objects.')];
    await clock.advance(1_000);
    await clock.advance(2_000);
    expect(events.filter((event) => event === 'closed')).to.have.length(2);
    expect(await signs()).to.equal(false);
  });

  it('closes a store that was opened while it was itself being closed', async () => {
    refusal = undefined;
    whileChecked = () => objects.close();
    await clock.advance(1_000);
    expect(events).to.include('closed').and.not.to.include('object store reached');
  });

  it('closes what it has opened', async () => {
    refusal = undefined;
    await clock.advance(10_000);
    await objects.close();
    expect(events).to.deep.equal(['object store not reached at the start', 'object store reached', 'closed']);
  });

  it('is not tried again once it is closed', async () => {
    await clock.advance(2_000);
    await objects.close();
    const asked = tries.length;
    await clock.advance(600_000);
    expect(tries).to.have.length(asked);
  });
});
