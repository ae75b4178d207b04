import { createAccount, createApp, createKey, readName } from '../../../core/access/manage.js';
import { grantCredits } from '../../../core/credits/operate.js';
import { itemsOf } from '../../../core/paging.js';
import { configDrivers } from '../../config/load-config.js';
import { BUILT_IN_DRIVERS, DEFAULT_PROVIDERS } from '../../wiring/built-in-drivers.js';
import { type CliCommand, collect, readCredits, storeCommand } from '../command.js';
import { Failure, usageFailure } from '../exit.js';
import type { InitFlags } from '../init/init-provider.js';
import type { CliIo } from '../io.js';
import { dataPlace, type StoreOptions, withContext } from '../operator/with-operator.js';
import { facts, print, show } from '../terminal.js';
import { SECRET_NOTE } from './keys.js';

interface Options extends StoreOptions, InitFlags {
  readonly provider?: string;
  readonly account?: string;
  readonly credits?: string;
}

const ABOUT_INIT = `On an existing folder it changes nothing except what --account adds.

With --provider it writes darkroom.yaml and catalog.yaml into the current folder instead, and overwrites nothing. At a terminal it
asks for what the options leave out. The key of a provider is never written: the command says where it is read from.`;

const KINDS = BUILT_IN_DRIVERS.filter(({ kind, name }) => kind === 'provider' && !DEFAULT_PROVIDERS.has(name)).map(
  ({ name }) => name,
);

const EXAMPLES = [
  'darkroom init',
  'darkroom init --account studio --credits 10000',
  `darkroom init --provider ${KINDS[0]}`,
  `darkroom init --provider ${KINDS[0]} --model own-model --base-url http://127.0.0.1:5000`,
];

const OF_PROVIDERS = ['model', 'import', 'try', 'baseUrl', 'apiKeyFile'] as const;

/** `darkroom init`: creates the data folder, and on request an account with a key. */
export function addInit(program: CliCommand): void {
  const { io } = program;
  storeCommand(program, 'init')
    .description(
      'create the data folder, with --account an account and a key; with --provider the files for a provider',
    )
    .option('--account <name>', 'also create an account of this name with one App and one key')
    .option('--credits <count>', 'credits to give to the new account')
    .option('--provider <name>', `write a configuration and a catalog for this provider: ${KINDS.join(', ')}`)
    .option('--base-url <url>', 'where the server of the provider is')
    .option('--model <model>', 'a model of the example (repeatable)', collect)
    .option('--import <file>', 'propose the catalog for this file, where the provider can')
    .option('--try', 'with --import: run the proposal once, and show the files that it makes')
    .option('--api-key-file <file>', 'the file that the key of the provider is read from')
    .examples(EXAMPLES, ABOUT_INIT)
    .action((options: Options) =>
      options.provider === undefined ? init(io, options) : ofProvider(io, options.provider, options),
    );
}

async function ofProvider(io: CliIo, name: string, options: Options): Promise<void> {
  if (options.account !== undefined || options.credits !== undefined || options.config !== undefined)
    throw usageFailure(
      '--provider only writes files: give --account, --credits and --config to another darkroom init.',
    );
  // Loaded only now: help and the other commands start faster without it.
  const { initProvider } = await import('../init/init-provider.js');
  await initProvider(io, name, options);
}

function init(io: CliIo, options: Options): Promise<void> {
  if (OF_PROVIDERS.some((flag) => options[flag] !== undefined))
    throw usageFailure(
      '--base-url, --model, --import, --try and --api-key-file need --provider, which says what they are for.',
    );
  if (options.credits !== undefined && options.account === undefined) {
    throw usageFailure('--credits needs --account, which says who they are for.');
  }
  const credits = options.credits === undefined ? 0 : readCredits('--credits', options.credits);
  return withContext(
    io,
    options,
    async (context, config) => {
      const place = dataPlace(config);
      if (options.account === undefined) {
        show(
          io,
          { json: place.json, text: `${place.text} is ready; ${io.command} serve starts the service.` },
          options,
        );
        return;
      }
      const wanted = readName(options.account);
      for await (const { name } of itemsOf((page) => context.accounts.list(page), 1_000))
        if (name === wanted)
          throw new Failure(
            `There is an account ${name} already, and nothing was made; darkroom accounts create makes another of this name.`,
          );
      const { accountId } = await createAccount(context, { name: options.account });
      if (credits > 0)
        await grantCredits(context, { accountId, operationId: context.ids.uuid(), credits, reason: 'First grant' });
      const { appId } = await createApp(context, { accountId, name: 'default' });
      const { key, secret } = await createKey(context, { appId, name: 'first key' });
      const placeFacts = Object.fromEntries(
        Object.entries(place.json).map(([name, value]) => [name.replaceAll('_', ' '), value]),
      );
      show(
        io,
        {
          json: { ...place.json, account_id: accountId, app_id: appId, key_id: key.keyId, secret, credits },
          text: facts({ ...placeFacts, account: accountId, app: appId, credits, secret }),
          notes: [SECRET_NOTE],
        },
        options,
      );
    },
    { create: true },
  );
}

const ABOUT_CONFIG = `With a configuration that names modules it includes their options. An editor with a YAML language server then completes
and checks darkroom.yaml, whose first line names the file: # yaml-language-server: $schema=darkroom.schema.json`;

/** `darkroom config schema`: what darkroom.yaml may contain, for editors. */
export function addConfig(program: CliCommand): void {
  const config = program.command('config').description('what darkroom.yaml may contain');
  storeCommand(config, 'schema')
    .description('print the JSON Schema of the configuration')
    .examples(['darkroom config schema > darkroom.schema.json'], ABOUT_CONFIG)
    .action((options: StoreOptions) => schema(program.io, options));
}

async function schema(io: CliIo, { config: file }: StoreOptions): Promise<void> {
  const { configSchema } = await import('../../config/config-schema.js');
  const drivers = await configDrivers({ file, environment: io.environment, folder: io.folder });
  print(io, JSON.stringify(configSchema(drivers), null, 2));
}
