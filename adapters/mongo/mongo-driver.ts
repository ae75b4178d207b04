import { FILLED_TEXT, type DatabaseDriver, type OpenDatabase, type Opening } from '../driver.js';
import type { MongoOptions, MongoStores } from './open-mongo.js';

/**
 * How long ledger entries may wait in their account's document before a worker moves them, and of how many accounts at
 * a time.
 */
const OLD_ENTRY_MS = 60_000;
const MAX_TIDIED_ACCOUNTS = 200;

interface MongoSection {
  readonly url: string;
  readonly database: string;
  readonly pool_size: number;
  readonly timeout_seconds: number;
}

/** A MongoDB deployment, shared by any number of processes. */
export const mongoDriver: DatabaseDriver = {
  kind: 'database',
  name: 'mongo',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['url'],
    properties: {
      url: {
        type: 'string',
        pattern: '^mongodb(\\+srv)?://\\S+$',
        writeOnly: true,
        errorMessage: 'must be an address that begins with mongodb:// or mongodb+srv://',
        description:
          'The connection string: mongodb://… or mongodb+srv://…. It may contain a password, in which @ : / ? # are percent-encoded (@ is %40). If this file is not private, set DARKROOM_MONGO_URL instead.',
      },
      database: { ...FILLED_TEXT, default: 'darkroom', description: 'The name of the database.' },
      pool_size: {
        type: 'integer',
        minimum: 1,
        maximum: 10_000,
        default: 50,
        description: 'Connections per process.',
      },
      timeout_seconds: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: 300,
        default: 5,
        description: 'The longest wait for one response.',
      },
    },
  },
  lends: ['wake-up-table', 'mongodb'],
  backupTools: 'the tools of MongoDB',

  longestCall: (options) => ({ option: 'timeout_seconds', timeoutMs: optionsOf({ options }).timeoutMs }),
  connections: (options) => ({ option: 'pool_size', count: optionsOf({ options }).poolSize }),

  place({ options }) {
    const { database, url = '' } = options as { database: string; url?: string };
    return {
      name: database,
      key: 'mongo.database',
      text: `Database ${database} at ${hostsOf(url)}`,
      facts: { database },
    };
  },

  async open(opening) {
    const { openMongo } = await import('./open-mongo.js');
    return opened(await openMongo({ ...optionsOf(opening), log: opening.log }), opening);
  },

  async inspect(opening) {
    const { openMongo } = await import('./open-mongo.js');
    return opened(await openMongo(optionsOf(opening)), opening);
  },

  async inspectBeforeMigration(opening) {
    const { lookIntoMongo } = await import('./open-mongo.js');
    return opened(await lookIntoMongo(optionsOf(opening)), opening);
  },

  async migrate(opening, beside) {
    const { migrateMongo } = await import('./migrate-mongo.js');
    const { MongoWakeUpTable } = await import('./mongo-wake-up-table.js');
    return migrateMongo(optionsOf(opening), (connection) =>
      beside({ 'mongodb': connection, 'wake-up-table': new MongoWakeUpTable(connection) }),
    );
  },
};

function optionsOf({ options }: Pick<Opening, 'options'>): Required<MongoOptions> {
  const { url, database, pool_size: poolSize, timeout_seconds: timeoutSeconds } = options as unknown as MongoSection;
  return { url, database, poolSize, timeoutMs: Math.max(1, Math.round(timeoutSeconds * 1_000)) };
}

function opened(stores: MongoStores, { clock }: Opening): OpenDatabase {
  return {
    stores,
    // `mongodb` is the client's database, and the function that calls it: with a bound on every wait, and outages
    // distinguished from programming errors.
    lent: { 'wake-up-table': stores.wakeUpTable, 'mongodb': stores },
    installation: stores.installation,
    rows: (table) => stores.rows(table),
    ...(stores.generationChanges === undefined ? {} : { generationChanges: stores.generationChanges }),
    isExclusive: false,
    isReady: () => stores.isReady(),
    tidy: async () => void (await stores.accounts.moveOldEntries(clock.now() - OLD_ENTRY_MS, MAX_TIDIED_ACCOUNTS)),
    close: () => stores.close(),
  };
}

/** The part between the credentials of a connection string and its path. */
function hostsOf(url: string): string {
  return /^mongodb(?:\+srv)?:\/\/(?:[^/]*@)?([^/?#@]*)/.exec(url)?.[1] ?? '';
}
