// Goal: a process that stops does not abort the wake-ups that it is scheduling, whether or not a caller awaits them.
// Method: schedules are held at a gate, or made to fail, while the close is in progress.
import { expect } from 'chai';
import { AwaitedSchedules } from '../../../apps/stores/awaited-schedules.js';
import { MemoryWakeUps } from '../../../adapters/memory/memory-wake-ups.js';
import { MemoryWakeUpTable } from '../../../adapters/memory/wake-up-table.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { Gate, intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { ManualClock } from '../../fixtures/manual-clock.js';

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
  it('are completed first, including those begun meanwhile', async () => {
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
