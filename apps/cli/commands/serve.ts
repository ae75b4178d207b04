import { Option } from 'commander';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { browserUrl, isLoopback } from '../../config/network-address.js';
import { type Config, ConfigInvalid, type Role } from '../../config/config.js';
import { isInContainer, readingCommand } from '../called-as.js';
import { firstKeyPath } from '../../service/first-key-file.js';
import type { Demo } from '../../service/first-start.js';
import type { Served } from '../../service/serve.js';
import { keepFirstKey, type KeptKey, moveKey, profilePath } from '../client/connection.js';
import { failureOf } from '../client/failures.js';
import { type CliCommand, storeCommand } from '../command.js';
import { EXIT, Failure, sentenceOf } from '../exit.js';
import { type FirstSecret, firstStartText, keysCreateCommand } from '../first-start-text.js';
import type { CliIo } from '../io.js';
import { configOf, type StoreOptions } from '../operator/with-operator.js';
import { writePrivateFile } from '../private-file.js';
import { shellWord } from '../../shell-word.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { say, show } from '../terminal.js';

const ABOUT = `The first start of an empty data folder makes an account to try things with and shows its key, once; where stdout
is no terminal, the key goes to the file first-key in the data folder, which is deleted after the key's first use, and a link to sign in to
the file sign-in-link. The log goes to stderr. Ctrl-C or SIGTERM stops it gracefully; a second one immediately.`;

interface Options extends StoreOptions {
  readonly role?: Role;
  readonly migrate?: boolean;
}

/** `darkroom serve`: the whole service in one process, or one process's part of it, until it is asked to stop. */
export function addServe(program: CliCommand): void {
  const { io } = program;
  storeCommand(program, 'serve')
    .explainsError(/unknown option '--port'/, '; set DARKROOM_REST_PORT, or rest.port in darkroom.yaml')
    .description('run the service: answer requests and run generations')
    .addOption(
      new Option('--role <role>', 'the role of this process (default: role of the configuration)').choices([
        'all',
        'rest',
        'worker',
      ]),
    )
    .option('--migrate', 'run darkroom migrate first')
    .examples(
      [
        'darkroom serve',
        'DARKROOM_REST_PORT=9000 darkroom serve --config /etc/darkroom.yaml',
        'darkroom serve --config distributed.yaml --role worker',
      ],
      ABOUT,
    )
    .action(async (options: Options) => {
      let log: Config['log'] | undefined;
      try {
        const config = await configOf(io, options, { role: options.role });
        ({ log } = config);
        await start(io, config, options);
      } catch (error) {
        throw error instanceof LeftAtOnce
          ? error
          : await toldFailure(io, error, error instanceof ConfigInvalid ? (error.log ?? log) : log);
      }
    });
}

async function start(io: CliIo, config: Config, options: Options): Promise<void> {
  if (options.migrate) {
    await loadCatalog(config.catalog, catalogTools(config));
    const { migrateStores } = await import('../../stores/migrate-stores.js');
    await migrateStores(config, {
      role: 'server',
      tell: (line) => say(io, line),
    });
  }
  const [{ serve }, { createLogger }, { allocateAmongNew }] = await Promise.all([
    import('../../service/serve.js'),
    import('../../logging/logging.js'),
    import('../../service/new-objects.js'),
  ]);
  allocateAmongNew();
  const logger = createLogger(config.log, io.stderr);
  const host = {
    logger,
    signals: io.signals,
    leaveBehind: (afterMs: number) => io.leaveBehind(afterMs),
  };
  const end = await serve(config, host, (served) => showServed(io, served, { config, options, logger }));
  if (end === 'left') throw new LeftAtOnce();
}

/** A second signal ended the service before it had stopped in order. Nothing is printed. */
class LeftAtOnce extends Failure {
  constructor() {
    super('Asked twice to stop.', EXIT.cancelled, 'shown', undefined, true);
  }
}

/** If the log is JSON, its last line reports why the service did not start, instead of a sentence on stderr. */
async function toldFailure({ stderr }: CliIo, error: unknown, log: Config['log'] | undefined): Promise<Failure> {
  const { createLogger, isForMachines } = await import('../../logging/logging.js');
  const { message, exitCode, details } = failureOf(error);
  const isLogged = log !== undefined && isForMachines(log, stderr) && log.level !== 'silent';
  if (isLogged) {
    const about = details === 'shown' ? {} : details;
    const logger = createLogger(log, stderr);
    logger.fatal({ ...about, fault: message }, 'ended with a failure');
  }
  return new Failure(message, exitCode, details, error, isLogged);
}

interface Shown {
  readonly config: Config;
  readonly options: StoreOptions;
  readonly logger: Logger;
}

/** A start says where it serves; the first start of a folder also who may call, and how to see a first picture. */
async function showServed(io: CliIo, served: Omit<Served, 'stop'>, shown: Shown): Promise<void> {
  const { url, listening, demo } = served;
  if (listening !== null && isInContainer(io.command) && isLoopback(shown.config.rest.host))
    shown.logger.warn(
      { listening },
      'only its container can call the service: set rest.host or DARKROOM_REST_HOST to 0.0.0.0',
    );
  if (url !== null && demo !== null) return showFirstStart(io, { ...served, url, demo }, shown);
  const hasUnusedKey = await served.watchFirstKey();
  const { config, options } = shown;
  const movedFrom = url === null ? undefined : await moveOwnKey(io, { ...served, url }, config);
  const text =
    url === null
      ? 'Working on generations; a worker takes no requests. Ctrl-C stops.'
      : [
          servingText(url, listening),
          ...(movedFrom === undefined ? [] : [`The command line uses its key of ${movedFrom} here from now on.`]),
          ...laterKeyText(io, served.demoAppId, hasUnusedKey, { url, config, options }),
        ].join('\n\n');
  show(io, { json: { url }, text }, options);
}

/** What a later start says about the key of the first one, which is shown to nobody again. */
function laterKeyText(
  { command }: CliIo,
  demoAppId: string | null,
  hasUnusedKey: boolean,
  { url, config, options }: Pick<Shown, 'config' | 'options'> & { readonly url: string },
): string[] {
  if (hasUnusedKey)
    return [
      `The API key of the first start is in ${firstKeyPath(config)} until its first use: ${readingCommand(command, firstKeyPath(config))}`,
    ];
  if (demoAppId === null) return [];
  const create = `To make another API key: ${keysCreateCommand(command, demoAppId, options.config)}`;
  const login = `To store a key for the command line: ${command} login --url ${shellWord(url)}`;
  return [isInContainer(command) ? create : `${create}\n${login}`];
}

async function showFirstStart(
  io: CliIo,
  served: Omit<Served, 'stop'> & { readonly url: string; readonly demo: Demo },
  { config, options, logger }: Shown,
): Promise<void> {
  const { url, listening, demo } = served;
  const serving = servingText(url, listening);
  // Passkeys work at a name only, and belong to the one under which the person signs in first.
  const shownUrl = browserUrl(url);
  const key = tell(io, { secret: demo.secret, path: firstKeyPath(config) }, (about) =>
    about.fault === undefined ? logger.info(about, 'first key written') : logger.warn(about, 'first key not written'),
  );
  await served.watchFirstKey();
  const link = tellLink(io, shownUrl, { demo, config, logger });
  const kept = keepKey(io, localUrlOf(io, served), demo.secret);
  const json = {
    url,
    account_id: demo.accountId,
    app_id: demo.appId,
    ...(key.file === undefined ? {} : { key_file: key.file }),
    ...(key.shown === undefined ? {} : { secret: key.shown }),
    ...(link?.file === undefined ? {} : { sign_in_link_file: link.file }),
    ...(link?.shown === undefined ? {} : { sign_in_link: link.shown }),
  };
  show(
    io,
    {
      json,
      text: firstStartText({
        command: io.command,
        serving,
        url: shownUrl,
        demo,
        key,
        link,
        kept,
        profile: profilePath(io),
      }),
    },
    options,
  );
}

/** The address of a server for commands beside it. */
function localUrlOf(
  { command }: CliIo,
  { url, listening }: Pick<Served, 'listening'> & { readonly url: string },
): string {
  // Clients may reach a container by a port or a name that leads nowhere inside.
  const isInside = listening !== null && isInContainer(command);
  return isInside ? `http://127.0.0.1:${listening.split(':').at(-1)}` : url;
}

/** Moves the key that the command line has of an earlier start at another address. Only one server has a data folder. */
async function moveOwnKey(
  io: CliIo,
  served: Omit<Served, 'stop'> & { readonly url: string },
  { stores }: Config,
): Promise<string | undefined> {
  if (stores.database.driver.isInDataFolder !== true) return undefined;
  try {
    return await moveKey(io, localUrlOf(io, served), (secret) => served.knowsKey(secret));
  } catch (error) {
    say(io, `darkroom: ${sentenceOf(error)} The key of the command line stays as it is.`);
    return undefined;
  }
}

/** Undefined where people cannot sign in. */
function tellLink(
  io: CliIo,
  url: string,
  { demo, config, logger }: Pick<Shown, 'config' | 'logger'> & { readonly demo: Demo },
): FirstSecret | undefined {
  if (demo.signIn === undefined) return undefined;
  return tell(io, { secret: url + demo.signIn.path, path: join(config.dataFolder, 'sign-in-link') }, (about) =>
    about.fault === undefined
      ? logger.info(about, 'sign-in link written')
      : logger.warn(about, 'sign-in link not written'),
  );
}

function servingText(url: string, listening: string | null): string {
  const isOther = listening !== null && url !== `http://${listening}`;
  const shownUrl = browserUrl(url);
  return `Serving on ${shownUrl} (its API is described at ${shownUrl}/docs)${isOther ? `, listening on ${listening}` : ''}. Ctrl-C stops.`;
}

/**
 * A terminal shows a secret to the user who started the service. Any other output may be stored, so then the secret goes
 * to a file.
 */
function tell(
  io: CliIo,
  { secret, path }: { readonly secret: string; readonly path: string },
  log: (about: { readonly file: string; readonly fault?: string }) => void,
): FirstSecret {
  if (io.stdout.isTTY) return { shown: secret };
  try {
    writePrivateFile(path, io.folder, `${secret}\n`);
    log({ file: path });
    return { file: path };
  } catch (error) {
    log({ file: path, fault: sentenceOf(error) });
    return {};
  }
}

/** The outcome of storing the key in the profile; undefined if the profile could not be written. */
function keepKey(io: CliIo, url: string, secret: string): KeptKey | undefined {
  try {
    return keepFirstKey(io, url, secret);
  } catch (error) {
    say(io, `darkroom: ${sentenceOf(error)} The key is not stored for the command line.`);
    return undefined;
  }
}
