// Goal: wake-ups delivered by Agenda keep the port's contract, with change streams and with polling, without a query
// that scans the whole collection or a write that is acknowledged too early.
// Method: the contract on real servers and a manual clock that waits for pending server operations; all commands are
// watched, and explained at the end. Other suites of this folder use the machine's clock.
import { expect } from 'chai';
import type { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import type { WakeUps } from '../../../core/ports/wake-ups.js';
import { wakeUpsContract } from '../../contracts/wake-ups.contract.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import type { ManualClock } from '../../fixtures/manual-clock.js';
import { until } from '../../fixtures/until.js';
import { onAgenda, onManualClock } from './on-agenda.js';

/** Longer than any retry. */
const QUIET_MS = 70_000;

onAgenda('AgendaWakeUps', (place, { wokenBy }) => {
  let processes = onManualClock();
  const clock = (): ManualClock => processes.clock;

  /** A first process, and a clock that starts with it: Agenda uses the machine's clock for its retries. */
  function open(options: { readonly holdMs?: number } = {}): Promise<AgendaWakeUps> {
    processes = onManualClock();
    return place.open({ ...processes, ...options });
  }

  wakeUpsContract({
    name: `agenda, ${wokenBy}`,
    open: () => open(),
    async close(wakeUps: WakeUps) {
      await wakeUps.stop();
      await place.empty();
    },
    supports: {
      now: () => clock().now(),
      elapse: (ms) => clock().advance(ms),
      quietMs: QUIET_MS,
      reopen: () => place.open(processes),
    },
  });

  // A suite, since mocha runs suites after the tests beside them.
  describe('the operations on the server', () => {
    before(async () => {
      // No handler of the contract runs long enough for its hold to be renewed.
      const wakeUps = await open({ holdMs: 400 });
      let end: () => void = () => undefined;
      let isBegun = false;
      await wakeUps.start(async () => {
        isBegun = true;
        await new Promise<void>((resolve) => {
          end = resolve;
        });
      }, 1);
      await wakeUps.schedule(aboutGeneration(uuidAt(1)), clock().now());
      await until(() => isBegun);
      await clock().advance(1_000);
      end();
      await place.empty();
    });

    it('find documents by an index', () => place.queries.expectIndexes(place.connect()));

    it('write for a majority and to the journal', () => {
      expect(place.queries.writeConcerns.map((concern): unknown => JSON.parse(concern))).to.deep.equal([
        { w: 'majority', j: true },
      ]);
    });
  });
});
