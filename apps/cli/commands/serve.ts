import { join } from 'node:path';
import { Option, type Command } from 'commander';
import type { Logger } from 'pino';
import { ConfigInvalid, type Config, type Role } from '../../config/config.js';
import { loadConfig } from '../../config/load-config.js';
import type { Served } from '../../service/serve.js';
import { storeCommand, type StoreOptions } from '../operator/store-command.js';
import { keepFirstKey, profilePath, type KeptKey } from '../client/profile.js';
import { Failure, sentenceOf } from '../exit.js';
import { failureOf } from '../failure-of.js';
import { firstStartText, type FirstKey } from '../first-start-text.js';
import { writePrivateFile } from '../private-file.js';
import { say, show } from '../terminal.js';
import { examples } from './examples.js';

const ABOUT = `The first start of an empty data folder makes an account to try things with and shows its key, once; where stdout
is no terminal, the key goes to the file first-key in the data folder. The log goes to stderr. Ctrl-C or SIGTERM stops it in order; a second time at once.`;

interface Options extends StoreOptions {
  readonly role?: Role;
  readonly migrate?: boolean;
}

/** `darkroom serve`: the whole service in one process, or one process's part of it, until it is asked to stop. */
export function addServe(program: Command): void {
  storeCommand(program, 'serve')
    .description('run the service: requests, and the generations they ask for')
    .addOption(new Option('--role <role>', 'what this process does of it (default: role of the configuration)').choices(['all', 'rest', 'worker']))
    .option('--migrate', 'first do what darkroom migrate does')
    .addHelpText('after', examples([
      'darkroom serve',
      'DARKROOM_REST_PORT=9000 darkroom serve --config /etc/darkroom.yaml',
      'darkroom serve --config distributed.yaml --role worker',
    ], ABOUT))
    .action(async (options: Options) => {
      let log: Config['log'] | undefined;
      try {
        const config = loadConfig({ file: options.config, role: options.role });
        ({ log } = config);
        await start(config, options);
      } catch (error) {
        throw await toldFailure(error, error instanceof ConfigInvalid ? (error.log ?? log) : log);
      }
    });
}

async function start(config: Config, options: Options): Promise<void> {
  if (options.migrate) {
    const { migrateStores } = await import('../../stores/migrate-stores.js');
    await migrateStores(config, { role: 'server', tell: say });
  }
  const { serve } = await import('../../service/serve.js');
  await serve(config, (served, logger) => { showServed(served, config, options, logger); });
}

/** Whoever collects the log as JSON finds there why there is no service, in one line; people are told the sentence. */
async function toldFailure(error: unknown, log: Config['log'] | undefined): Promise<Failure> {
  const { createLogger, isForMachines } = await import('../../logging/logging.js');
  const { message, exitCode, details } = failureOf(error);
  const isLogged = log !== undefined && isForMachines(log) && log.level !== 'silent';
  if (isLogged) {
    const about = details === 'shown' ? {} : details;
    const logger = createLogger(log);
    logger.fatal({ ...about, fault: message }, 'ended with a failure');
  }
  return new Failure(message, exitCode, details, error, isLogged);
}

/** A start says where it serves; the first start of a folder also who may call, and how to see a first picture. */
function showServed({ url, listening, demo }: Omit<Served, 'stop'>, { dataFolder }: Config, options: StoreOptions, logger: Logger): void {
  if (url === null) {
    show({ json: { url }, text: 'Working on generations; a worker takes no requests. Ctrl-C stops.' }, options);
    return;
  }
  const serving = servingText(url, listening);
  if (demo === null) {
    show({ json: { url }, text: serving }, options);
    return;
  }
  const key = tellFirstKey(demo.secret, join(dataFolder, 'first-key'), logger);
  const kept = keepKey(url, demo.secret);
  const json = { url, account_id: demo.accountId, app_id: demo.appId, ...(key.file === undefined ? {} : { key_file: key.file }), ...(key.shown === undefined ? {} : { secret: key.shown }) };
  show({ json, text: firstStartText({ serving, url, demo, key, kept }) }, options);
}

function servingText(url: string, listening: string | null): string {
  const isOther = listening !== null && url !== `http://${listening}`;
  return `Serving on ${url} (its API is described at ${url}/docs)${isOther ? `, listening on ${listening}` : ''}. Ctrl-C stops.`;
}

/** A terminal shows the key to whoever started the service. Anything else may keep what it is given, so there it goes to a file. */
function tellFirstKey(secret: string, path: string, logger: Logger): FirstKey {
  if (process.stdout.isTTY) return { shown: secret };
  try {
    writePrivateFile(path, `${secret}\n`);
    logger.info({ keyFile: path }, 'first key written');
    return { file: path };
  } catch (error) {
    logger.warn({ keyFile: path, fault: sentenceOf(error) }, 'first key not written');
    return {};
  }
}

/** What became of the key in the profile, or undefined when that could not be written. */
function keepKey(url: string, secret: string): KeptKey | undefined {
  try {
    return keepFirstKey(profilePath(), url, secret);
  } catch (error) {
    say(`darkroom: ${sentenceOf(error)} The key is not kept.`);
    return undefined;
  }
}
