import { FILLED_TEXT, type DatabaseDriver, type OpenDatabase, type Opening } from '../driver.js';
import type { PostgresOptions, PostgresStores, ServerNeeds } from './open-postgres.js';

interface PostgresSection {
  readonly url: string;
  readonly direct_url?: string;
  readonly ca_file?: string;
  readonly replicas: 0 | 1;
  readonly prepared: boolean;
  readonly pool_size: number;
  readonly timeout_seconds: number;
}

const URL_FORM = {
  type: 'string',
  pattern: '^postgres(ql)?://\\S+$',
  writeOnly: true,
  errorMessage: 'must be an address that begins with postgres:// or postgresql://',
} as const;

/** A PostgreSQL database, shared by any number of processes. */
export const postgresDriver: DatabaseDriver = {
  kind: 'database',
  name: 'postgres',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['url'],
    properties: {
      url: {
        ...URL_FORM,
        description:
          'The connection URL: postgres://user:password@host:5432/database?sslmode=verify-full. Several hosts have commas between them; the one that takes writes is used, also after a failover. In the password, @ : / ? # are percent-encoded (@ is %40). sslmode is verify-full, or disable on a private network. If this file is not private, set DARKROOM_POSTGRES_URL instead.',
      },
      direct_url: {
        ...URL_FORM,
        description:
          'The same database past a pooler, such as PgBouncer in transaction mode, that url leads to: for migrations and notifications.',
      },
      ca_file: {
        ...FILLED_TEXT,
        description: "A PEM file of the authority that signs the servers' certificates, if it is not a public one.",
      },
      replicas: {
        type: 'integer',
        enum: [0, 1],
        default: 0,
        description:
          'With 1, Darkroom starts only if a write waits for a replica (synchronous_standby_names), so that a failover loses nothing.',
      },
      prepared: {
        type: 'boolean',
        default: true,
        description: 'Whether statements are prepared; false for PgBouncer before 1.21 in transaction mode.',
      },
      pool_size: {
        type: 'integer',
        minimum: 1,
        maximum: 1_000,
        default: 10,
        description: 'Connections per process. More rarely help: each is a process of the server.',
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
  lends: ['wake-up-table', 'postgres'],
  backupTools: 'the tools of PostgreSQL',

  longestCall: (options) => ({ option: 'timeout_seconds', timeoutMs: optionsOf({ options }).timeoutMs }),
  connections: (options) => ({ option: 'pool_size', count: optionsOf({ options }).poolSize }),

  place({ options }) {
    const { url = '' } = options as { url?: string };
    const [, hosts = '', database = ''] = /^postgres(?:ql)?:\/\/(?:[^/]*@)?([^/?#@]*)\/([^?#]*)/.exec(url) ?? [];
    return {
      name: database,
      key: 'postgres.url',
      text: `Database ${database} at ${hosts}`,
      facts: { database },
    };
  },

  async open(opening) {
    const { openPostgres } = await import('./open-postgres.js');
    return opened(await openPostgres({ ...optionsOf(opening), log: opening.log }));
  },

  async inspect(opening) {
    const { openPostgres } = await import('./open-postgres.js');
    return opened(await openPostgres(optionsOf(opening)));
  },

  async inspectBeforeMigration(opening) {
    const { lookIntoPostgres } = await import('./open-postgres.js');
    const stores = await lookIntoPostgres(optionsOf(opening));
    return stores && opened(stores);
  },

  async migrate(opening, beside) {
    const { migrated } = await import('./open-postgres.js');
    return migrated(optionsOf(opening), (stores) => beside(lentBy(stores)));
  },

  async openCopyTarget(opening) {
    const { openCopyTarget } = await import('./postgres-copy.js');
    return openCopyTarget(optionsOf(opening));
  },
};

type Resolved = PostgresOptions & ServerNeeds & Required<Pick<PostgresOptions, 'poolSize' | 'timeoutMs'>>;

function optionsOf({ options }: Pick<Opening, 'options'>): Resolved {
  const section = options as unknown as PostgresSection;
  return {
    url: section.url,
    ...(section.direct_url === undefined ? {} : { directUrl: section.direct_url }),
    ...(section.ca_file === undefined ? {} : { caFile: section.ca_file }),
    replicas: section.replicas,
    prepared: section.prepared,
    poolSize: section.pool_size,
    timeoutMs: Math.max(1, Math.round(section.timeout_seconds * 1_000)),
  };
}

function lentBy(stores: PostgresStores) {
  return { 'wake-up-table': stores.wakeUpTable, 'postgres': stores.db };
}

function opened(stores: PostgresStores): OpenDatabase {
  return {
    stores,
    lent: lentBy(stores),
    installation: stores.installation,
    ...(stores.generationChanges === undefined ? {} : { generationChanges: stores.generationChanges }),
    isExclusive: false,
    isReady: () => stores.isReady(),
    tidy: () => Promise.resolve(),
    close: () => stores.close(),
  };
}
