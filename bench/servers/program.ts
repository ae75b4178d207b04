import { join } from 'node:path';
import type { Config } from '../../apps/config/config.js';
import { loadConfig } from '../../apps/config/load-config.js';
import { createLogger, logTo } from '../../apps/logging/logging.js';
import { openProgram, type Program } from '../../apps/wiring/open-program.js';
import { createAccount, createApp, createKey } from '../../core/access/manage.js';
import { grantCredits } from '../../core/credits/operate.js';

export interface Credential {
  readonly accountId: string;
  readonly appId: string;
  readonly secret: string;
}

const PLENTY = 1_000_000_000_000;

/**
 * The program as it ships, its own limits on load out of the way. Addresses begin with a host that nothing listens on.
 */
export async function benchConfig(dataFolder: string): Promise<Config> {
  const config = await loadConfig({ environment: {}, folder: dataFolder });
  return {
    ...config,
    dataFolder,
    secretFile: join(dataFolder, 'secret'),
    rest: {
      ...config.rest,
      host: '127.0.0.1',
      port: 0,
      maxConnections: 20_000,
      maxConnectionsPerAddress: 20_000,
      rateLimits: { ...config.rest.rateLimits, readsPerMinute: 0, createsPerMinute: 0 },
    },
    log: { level: 'info', format: 'json' },
    webhooks: { allowedHosts: [], allowedNetworks: ['127.0.0.1'] },
    settings: { ...config.settings, maxOpenGenerationsPerAccount: 100_000_000 },
  };
}

export interface BenchProgram {
  readonly program: Program;
  readonly config: Config;
  /** When the check of the database that runs beside the program ended, in milliseconds from the start of the process. */
  readonly databaseChecked: Promise<number>;
}

export async function openBenchProgram(dataFolder: string): Promise<BenchProgram> {
  const config = await benchConfig(dataFolder);
  const log = logTo(createLogger(config.log));
  let noteChecked: (atMs: number) => void = () => undefined;
  const databaseChecked = new Promise<number>((resolve) => (noteChecked = resolve));
  const program = await openProgram(config, 'server', {
    log: {
      info(event, about) {
        if (event === 'database checked') noteChecked(performance.now());
        log.info(event, about);
      },
      warn: (event, about) => log.warn(event, about),
    },
    publicUrl: () => 'http://127.0.0.1:8787',
  });
  return { program, config, databaseChecked };
}

/** An account with more credits than the run can spend, an App and a key. */
export async function createCredential({ context }: Program): Promise<Credential> {
  const { accountId } = await createAccount(context, { name: 'bench' });
  await grantCredits(context, {
    accountId,
    operationId: 'bench',
    credits: PLENTY,
    reason: 'To be spent in a benchmark',
  });
  const { appId } = await createApp(context, { accountId, name: 'bench' });
  const { secret } = await createKey(context, { appId, name: 'bench' });
  return { accountId, appId, secret };
}
