import type { Command } from 'commander';
import { FileCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { Config } from '../../config/config.js';
import type { CliIo } from '../io.js';
import { configOf, storeCommand, type StoreOptions } from '../operator/store-command.js';
import { dataPlace } from '../operator/data-place.js';
import { say, show } from '../terminal.js';
import { examples } from './examples.js';

interface Options extends StoreOptions {
  readonly check?: boolean;
}

const ABOUT = `Run it before the first start over a new database or bucket, and before the processes of a new release. It may be
repeated, and may run beside servers of this release and the one before.`;

/** `darkroom migrate`: makes and checks collections, indexes and bucket. */
export function addMigrate(program: Command, io: CliIo): void {
  storeCommand(program, 'migrate')
    .description('create what the stores need: collections, indexes, the bucket and its rules')
    .option('--check', 'change nothing, only check whether everything exists')
    .addHelpText('after', examples(['darkroom migrate', 'darkroom migrate --check --config distributed.yaml'], ABOUT))
    .action((options: Options) => migrate(io, options));
}

async function migrate(io: CliIo, options: Options): Promise<void> {
  const config = await configOf(io, options);
  const done = options.check ? await check(config) : await make(io, config);
  const text = [...done, `${dataPlace(config).text} is ready; darkroom serve starts the service.`].join('\n');
  show(io, { json: { ...dataPlace(config).json, done }, text }, options);
}

async function check(config: Config): Promise<readonly string[]> {
  const { checkStores } = await import('../../stores/check-stores.js');
  await checkStores(config);
  return [];
}

/**
 * Opens everything afterwards as a server does, which makes the rest and refuses what is wrong; the catalog is another
 * command's to check.
 */
async function make(io: CliIo, config: Config): Promise<readonly string[]> {
  const { migrateStores } = await import('../../stores/migrate-stores.js');
  const done: string[] = [];
  try {
    await migrateStores(config, {
      tell: (line) => {
        done.push(line);
      },
    });
    await openAsServer(config);
  } catch (error) {
    // Print what was created before the failure.
    for (const line of done) say(io, line);
    throw error;
  }
  return done;
}

async function openAsServer(config: Config): Promise<void> {
  const { configuredUrl, openProgram } = await import('../../wiring/open-program.js');
  const { checkObjects } = await import('../../stores/open-objects.js');
  const program = await openProgram(config, 'tool', { catalog: new FileCatalog([]) });
  try {
    await checkObjects(config, { clock: program.context.clock, publicUrl: () => configuredUrl(config) });
  } finally {
    await program.close();
  }
}
