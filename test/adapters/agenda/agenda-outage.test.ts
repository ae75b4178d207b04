// Goal: work resumes after a MongoDB server is killed and restarted: schedules report an outage while it is away,
// deliveries resume afterwards, by change stream or by polling, and no promise rejection is left unhandled.
// Method: a dedicated server, killed and restarted under two processes, one that schedules and one that delivers.
import { expect } from 'chai';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { STORE_PAIRS } from '../../harness/store-pairs.js';
import { ServerProcess } from '../../servers/server-process.js';
import { orSkip } from '../../servers/servers.js';
import { until } from '../../fixtures/until.js';
import { AgendaPlace } from './on-agenda.js';

const ONE_MINUTE_MS = 60_000;
/** The test records an event slightly after the adapter decided to log it. */
const SLACK_MS = 1_000;
const clock = new SystemClock();

for (const lane of STORE_PAIRS) {
  describe(`AgendaWakeUps over a server that dies, ${lane.wokenBy}`, () => {
    const place = new AgendaPlace(lane, 3_000);
    const thrown: unknown[] = [];
    const note = (error: unknown): void => {
      thrown.push(error);
    };
    let server: ServerProcess | undefined;

    before(async function own() {
      server = await orSkip(this, ServerProcess.start(`mongo-${lane.mongo}`));
      await place.prepare(server);
      process.on('unhandledRejection', note);
    });

    after(async () => {
      await place.remove();
      process.off('unhandledRejection', note);
      await server?.stop();
    });

    it('are scheduled and delivered again once it is back, three times over', async () => {
      const events: { readonly event: string; readonly at: number }[] = [];
      const log = {
        info: () => undefined,
        warn: (event: string) => {
          events.push({ event, at: clock.now() });
        },
      };
      const scheduling = await place.open();
      // A busy machine may take longer than the three seconds that the process waits for an unreachable server.
      const untilScheduled = (id: string, at: number): Promise<void> =>
        until(() =>
          scheduling.schedule(aboutGeneration(id), at).then(
            () => true,
            () => false,
          ),
        );
      // With a stream, polls are so far apart that none comes within the test's time.
      const delivering = await place.open({ log, clock, ...(lane.wokenBy === 'change-streams' && { pollMs: 30_000 }) });
      const delivered = new Map<string, number>();
      await delivering.start(async ({ id }) => {
        delivered.set(id, (delivered.get(id) ?? 0) + 1);
      }, 10);
      for (let round = 0; round < 3; round += 1) {
        const [before, during, later, afterwards] = [0, 1, 2, 3].map((n) => uuidAt(10 * round + n)) as [
          string,
          string,
          string,
          string,
        ];
        await untilScheduled(before, Date.now());
        await until(() => delivered.has(before));
        const laterAt = Date.now() + 2_000;
        await untilScheduled(later, laterAt);
        await server?.kill();
        const refused: unknown = await scheduling
          .schedule(aboutGeneration(during), Date.now())
          .catch((error: unknown) => error);
        expect(refused).to.be.instanceOf(StoreUnavailable);
        await server?.restart();
        await untilScheduled(afterwards, Date.now());
        await until(() => delivered.has(afterwards) && delivered.has(later));
      }
      // An outage was logged, and not repeatedly; a poll may simply have waited until the server was back.
      if (lane.wokenBy === 'change-streams') expect(events).not.to.have.length(0);
      for (const { event, at } of events) {
        expect(
          events.filter((other) => other.event === event && Math.abs(other.at - at) < ONE_MINUTE_MS - SLACK_MS),
          `${event} within a minute`,
        ).to.have.length(1);
      }
      expect(thrown).to.deep.equal([]);
    });
  });
}
