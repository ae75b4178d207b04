// Goal: what a generation costs a shared database stays bounded: how many documents are written for it, from its create until
// it is settled and its ledger entries are where they stay, in one process and in a REST process with a worker beside it.
// Method: the program as it ships over MongoDB, started in this process; 32 clients make one generation after another, each
// once the one before has ended. The events of the driver's own commands are counted, of every collection, whatever wrote it.
import { expect } from 'chai';
import type { Db } from 'mongodb';
import { pino } from 'pino';
import { AgendaWakeUps } from '../../adapters/agenda/agenda-wake-ups.js';
import { MongoWakeUps } from '../../adapters/agenda/mongo/mongo-wake-ups.js';
import type { LentMongo } from '../../adapters/agenda/mongo/wake-up-collection.js';
import type { DatabaseDriver, OpenDatabase, WakeUpsDriver } from '../../adapters/driver.js';
import type { MongoAccountStore } from '../../adapters/mongo/mongo-account-store.js';
import type { Config, Role } from '../../apps/config/config.js';
import { type Served, startService } from '../../apps/service/serve.js';
import { openProgram } from '../../apps/wiring/open-program.js';
import { sizeOf } from '../harness/run-sizes.js';
import { WrittenDocuments } from '../harness/written-documents.js';
import { ON_MONGO } from './lanes.js';
import { Client, LiveService } from './live-service.js';

const GENERATIONS = sizeOf('countedGenerations');
const IN_FLIGHT = 32;
/** Longer than any run. */
const KEEP_AFTER_MS = 600_000;

/** A started service whose writes are counted. */
class CountedService {
  readonly written = new WrittenDocuments();
  /** The documents among them that the process that accepts requests writes. */
  readonly accepting = new WrittenDocuments();
  private readonly served: Served[] = [];
  private readonly databases: OpenDatabase[] = [];

  private constructor(
    private readonly service: LiveService,
    private readonly secrets: readonly string[],
  ) {}

  static async start(service: LiveService, roles: readonly Role[], accounts: number): Promise<CountedService> {
    const tenants = await service.tenants(accounts, GENERATIONS);
    const counted = new CountedService(
      service,
      tenants.map(({ secret }) => secret),
    );
    for (const role of roles) counted.served.push(await startService(counted.configOf(role), pino({ enabled: false })));
    for (const counter of [counted.written, counted.accepting]) counter.reset();
    return counted;
  }

  /** Answers once all have ended. */
  async generate(count: number): Promise<void> {
    const url = this.served.map((one) => one.url).find((one) => one !== null) ?? '';
    let begun = 0;
    const client = async (): Promise<void> => {
      while (begun < count) {
        const number = begun++;
        const secret = this.secrets[number % this.secrets.length] as string;
        const { status, data } = await new Client(url, secret).create(`key-${number}`, 'sandbox-noop');
        expect(status).to.equal(202);
        const ended = await fetch(`${url}/api/v1/developer/generations/${data['generation_id'] as string}`, {
          headers: { Authorization: `Bearer ${secret}`, Prefer: 'wait=60' },
        });
        expect(((await ended.json()) as { data: { status: string } }).data.status).to.equal('succeeded');
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, client));
  }

  /** Ends all processes; then nothing waits any more to be written, ledger entries among it. */
  async finish(): Promise<void> {
    for (const one of this.served.splice(0)) await one.stop();
    // The entries that wait for others, or to grow old.
    const mover = await openProgram(this.configOf('all'), 'tool');
    const { accounts } = (this.databases.at(-1) as OpenDatabase).stores;
    await (accounts as MongoAccountStore).moveOldEntries(Date.now() + 60_000, 10_000);
    await mover.close();
    expect((await this.service.run('verify')).code).to.equal(0);
  }

  async remove(): Promise<void> {
    for (const one of this.served.splice(0)) await one.stop();
    await this.service.remove();
  }

  private configOf(role: Role): Config {
    const { config } = this.service;
    const { database, wakeUps } = config.stores;
    const driver: DatabaseDriver = {
      ...database.driver,
      open: async (opening) => {
        const opened = await database.driver.open(opening);
        this.databases.push(opened);
        const { client } = (opened.lent['mongodb'] as { db: Db }).db;
        this.written.watch(client, role);
        if (role !== 'worker' && opening.as === 'server') this.accepting.watch(client, role);
        return opened;
      },
    };
    // On a busy machine a handler may take longer than the second after which its wake-up is stored once more.
    const wakeUpsDriver: WakeUpsDriver = {
      ...wakeUps.driver,
      open: ({ lent, clock, log }) =>
        AgendaWakeUps.open({
          database: new MongoWakeUps(lent['mongodb'] as LentMongo),
          clock,
          log,
          wokenBy: 'auto',
          keepAfterMs: KEEP_AFTER_MS,
        }),
    };
    const stores = {
      ...config.stores,
      database: { ...database, driver },
      wakeUps: { ...wakeUps, driver: wakeUpsDriver },
    };
    return { ...config, role, stores };
  }
}

interface Case {
  readonly roles: readonly Role[];
  readonly most: number;
  /** The limit for the accepting process, if it does nothing else. */
  readonly mostToAccept?: number;
}

/**
 * Concurrent commands share a write of these, the more of them the faster the machine: 0.6 writes for each generation here and
 * 0.9 on a busy machine, where it would be 4 if no command shared one.
 */
const SHARED = ['accounts', 'half_hours'];
const MOST_SHARED = 1.5;
/** Sixteen in flight of each account; with more accounts, fewer commands share a write. */
const ACCOUNTS = Number(process.env['DOCUMENTS_ACCOUNTS'] ?? 2);
const CASES: readonly Case[] = [
  { roles: ['all'], most: 6.25 },
  { roles: ['rest', 'worker'], most: 8.25, mostToAccept: 3.25 },
];

for (const { roles, most, mostToAccept } of CASES)
  describe(`documents written for a generation: ${roles.join(' and ')}, ${ACCOUNTS} accounts`, () => {
    let counted: CountedService | undefined;
    before(async function open() {
      const lane = await ON_MONGO[0]?.open(this);
      if (lane === undefined) return;
      const mongo = lane.config['mongo'] as { url: string };
      const url = new URL(mongo.url);
      url.searchParams.set('monitorCommands', 'true');
      const config = { ...lane.config, mongo: { ...mongo, url: url.href } };
      counted = await CountedService.start(await LiveService.prepare({ lane: { ...lane, config } }), roles, ACCOUNTS);
    });
    after(() => counted?.remove());

    it(`are at most ${most}${mostToAccept === undefined ? '' : `, ${mostToAccept} of them to accept it`}, and few that generations share`, async () => {
      const { written, accepting } = counted as CountedService;
      await counted?.generate(GENERATIONS);
      await counted?.finish();
      const table = written.table(GENERATIONS);
      if (process.env['DOCUMENTS_WRITTEN'] === 'print') console.log(table);
      const own = (counter: WrittenDocuments) => (counter.total - counter.of(...SHARED)) / GENERATIONS;
      expect(written.of('generations insert'), table).to.equal(GENERATIONS);
      expect(own(written), table).to.be.at.most(most);
      expect(written.of(...SHARED) / GENERATIONS, table).to.be.at.most(MOST_SHARED);
      if (mostToAccept === undefined) return;
      const toAccept = accepting.table(GENERATIONS);
      if (process.env['DOCUMENTS_WRITTEN'] === 'print') console.log(toAccept);
      expect(own(accepting), toAccept).to.be.at.most(mostToAccept);
    });
  });
