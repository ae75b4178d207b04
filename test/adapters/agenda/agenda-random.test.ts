import { expect } from 'chai';
import fc from 'fast-check';
import { randomInt } from 'node:crypto';
import type { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { until } from '../../fixtures/clocks.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { STORE_PAIRS } from '../../harness/store-pairs.js';
import { ServerProcess } from '../../servers/server-process.js';
import { orSkip } from '../../servers/servers.js';
import { type AgendaPlace, elapsed } from './agenda-place.js';
import { MongoAgendaPlace } from './mongo-place.js';
import { onAgenda } from './on-agenda.js';
import { PostgresAgendaPlace } from './postgres-place.js';
import { sizeOf } from '../../harness/run-sizes.js';

// Goal: with any schedules from any process, while handlers fail or run long and processes stop, die or start, each
// generation is eventually handled at or after the time of its last schedule, and no wake-up is left. If processes can
// die, wake-ups stay stored until they are done; if they only stop, short wake-ups do not.
// Method: random steps over one database, from a printed seed; the model is one map from generation to last time.

type Step =
  | { readonly kind: 'schedule'; readonly n: number; readonly inMs: number; readonly worker: number }
  | { readonly kind: 'stop' | 'kill'; readonly worker: number }
  | { readonly kind: 'pause'; readonly forMs: number };

const WORKERS = 3;
const HOLD_MS = 1_000;
const worker = fc.nat({ max: WORKERS - 1 });
const schedule = fc.record({
  kind: fc.constant('schedule' as const),
  n: fc.nat({ max: 9 }),
  inMs: fc.integer({ min: -50, max: 400 }),
  worker,
});
const stepOf = (...ends: readonly ('stop' | 'kill')[]): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 12, arbitrary: schedule },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom(...ends), worker }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('pause' as const), forMs: fc.nat({ max: 60 }) }) },
  );
const LIVES = [
  { name: 'come, go and die', step: stepOf('stop', 'kill'), keepAfterMs: 0 },
  { name: 'come and go', step: stepOf('stop'), keepAfterMs: 50 },
] as const;

/** Processes that start and stop, and the wake-ups that they have handled. */
class Workers {
  readonly handledAt = new Map<string, number>();
  private readonly processes: { wakeUps: AgendaWakeUps; isDead: boolean }[] = [];
  private handlers = 0;

  constructor(
    private readonly place: AgendaPlace,
    private readonly fates: readonly ('resolve' | 'reject' | 'linger')[],
    private readonly keepAfterMs: number,
  ) {}

  async start(index: number): Promise<void> {
    const process = {
      wakeUps: await this.place.open({ holdMs: HOLD_MS, pollMs: 200, keepAfterMs: this.keepAfterMs }),
      isDead: false,
    };
    this.processes[index] = process;
    await process.wakeUps.start(async ({ id }) => {
      const at = Date.now();
      const fate = this.fates[this.handlers];
      this.handlers += 1;
      if (fate === 'linger') await elapsed(100);
      if (fate === 'reject' || process.isDead) throw new Error('this handler was to fail');
      this.handledAt.set(id, Math.max(at, this.handledAt.get(id) ?? 0));
    }, 3);
  }

  at(index: number): AgendaWakeUps {
    const process = this.processes[index];
    if (process === undefined) throw new Error('no such worker');
    return process.wakeUps;
  }

  async replace(index: number, how: 'stop' | 'kill'): Promise<void> {
    const process = this.processes[index];
    if (process === undefined) return;
    if (how === 'kill') {
      process.isDead = true;
      await this.place.kill(process.wakeUps);
    }
    await process.wakeUps.stop();
    await this.start(index);
  }
}

for (const { name, step, keepAfterMs } of LIVES)
  onAgenda(`AgendaWakeUps among processes that ${name}`, (place) => {
    afterEach(() => place.empty());

    it('are handled after the last schedule of each generation', async () => {
      // Printed first, since a lost wake-up makes the test time out.
      const seed = randomInt(2 ** 31);
      console.log(`      seed ${seed}`);
      // Outcomes of the first handlers; the others resolve.
      const fates = fc.array(
        fc.constantFrom('resolve' as const, 'resolve' as const, 'reject' as const, 'linger' as const),
        { maxLength: 20 },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), fates, async (steps, handlerFates) => {
          const workers = new Workers(place, handlerFates, keepAfterMs);
          for (let index = 0; index < WORKERS; index += 1) await workers.start(index);
          const lastAt = await take(steps, workers);
          const late = (): string[] =>
            [...lastAt].filter(([id, at]) => (workers.handledAt.get(id) ?? -Infinity) < at).map(([id]) => id);
          await until(async () => late().length === 0 && (await place.storedCount()) === 0);
          await place.empty();
        }),
        { seed, numRuns: sizeOf('wakeUpSequences'), endOnFailure: true },
      );
    });
  });

async function take(steps: readonly Step[], workers: Workers): Promise<ReadonlyMap<string, number>> {
  const lastAt = new Map<string, number>();
  for (const next of steps) {
    if (next.kind === 'pause') await elapsed(next.forMs);
    else if (next.kind === 'schedule') {
      const at = Date.now() + next.inMs;
      const refused: unknown = await workers
        .at(next.worker)
        .schedule(aboutGeneration(uuidAt(next.n)), at)
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      if (refused === undefined) lastAt.set(uuidAt(next.n), Math.min(at, Date.now()));
      else expect(refused).to.be.instanceOf(StoreUnavailable);
    } else await workers.replace(next.worker, next.kind);
  }
  return lastAt;
}

// Goal: work resumes after a server is killed and restarted: schedules report an outage while it is down,
// deliveries resume afterwards, by change stream, notification or polling, and no promise rejection is left unhandled.
// Method: a dedicated server, killed and restarted under two processes, one that schedules and one that delivers.

const ONE_MINUTE_MS = 60_000;
/** The test records an event slightly after the adapter decided to log it. */
const SLACK_MS = 1_000;
const clock = new SystemClock();

const OWN_SERVERS = [
  ...STORE_PAIRS.map((pair) => ({ kind: `mongo-${pair.mongo}`, place: new MongoAgendaPlace(pair, 3_000) }) as const),
  { kind: 'postgres-18', place: new PostgresAgendaPlace('18', 'notifications', 3_000) } as const,
];

for (const { kind, place } of OWN_SERVERS) {
  describe(`AgendaWakeUps over a server that dies, ${place.name}`, () => {
    const thrown: unknown[] = [];
    const note = (error: unknown): void => {
      thrown.push(error);
    };
    let server: ServerProcess | undefined;

    before(async function own() {
      server = await orSkip(this, ServerProcess.start(kind));
      await place.prepareOn(server);
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
      // With a change stream or notifications, the polling interval is longer than the test.
      const delivering = await place.open({ log, clock, ...(place.wokenBy !== 'polling' && { pollMs: 30_000 }) });
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
      if (place.wokenBy !== 'polling') expect(events).not.to.have.length(0);
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
