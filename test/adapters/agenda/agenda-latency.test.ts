// Goal: the time from a wake-up's schedule to its handler is measured and printed; only its arrival is asserted.
// Method: wake-ups that are due immediately, scheduled at a steady pace, in the process that handles them or in
// another.
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { sizeOf } from '../../harness/run-sizes.js';
import { until } from '../../fixtures/until.js';
import { elapsed, onAgenda } from './on-agenda.js';

const WAKE_UPS = sizeOf('measuredWakeUps');
const PACE_MS = 20;

onAgenda('AgendaWakeUps from schedule to handler', (place, { wokenBy }) => {
  afterEach(() => place.empty());

  async function measure(scheduledIn: 'the same process' | 'another'): Promise<string> {
    const workers = [await place.open(), await place.open(), await place.open()];
    const other = await place.open();
    const scheduledAt = new Map<string, number>();
    const tookMs = new Map<string, number>();
    for (const worker of workers) {
      await worker.start(async ({ id }) => {
        if (!tookMs.has(id)) tookMs.set(id, performance.now() - (scheduledAt.get(id) ?? 0));
      }, 10_000);
    }
    const schedules: Promise<void>[] = [];
    for (let n = 0; n < WAKE_UPS; n += 1) {
      scheduledAt.set(uuidAt(n), performance.now());
      const scheduler = scheduledIn === 'another' ? other : (workers[n % workers.length] ?? other);
      schedules.push(scheduler.schedule(aboutGeneration(uuidAt(n)), Date.now()));
      await elapsed(PACE_MS);
    }
    await Promise.all(schedules);
    await until(() => tookMs.size === WAKE_UPS);
    const sorted = [...tookMs.values()].toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
    return `      ${wokenBy}, scheduled in ${scheduledIn}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
  }

  it('arrives when the handling process schedules it', async () => {
    console.log(await measure('the same process'));
  });
  it('arrives when another process schedules it', async () => {
    console.log(await measure('another'));
  });
});
