import type { Command } from 'commander';
import { createAccount, createApp, createKey } from '../../../core/access/manage.js';
import { grantCredits } from '../../../core/credits/operate.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { readCredits } from '../operator/read-credits.js';
import { storeCommand, withContext, type StoreOptions } from '../operator/store-command.js';
import { dataPlace } from '../operator/data-place.js';
import { facts, say, show } from '../terminal.js';
import { examples } from './examples.js';

interface Options extends StoreOptions {
  readonly account?: string;
  readonly credits?: string;
}

const ABOUT = 'On an existing folder it changes nothing except what --account adds.';

/** `darkroom init`: creates the data folder, and on request an account with a key. */
export function addInit(program: Command, io: CliIo): void {
  storeCommand(program, 'init')
    .description('create the data folder, and with --account an account, an App and a key')
    .option('--account <name>', 'also create an account of this name with one App and one key')
    .option('--credits <count>', 'credits to give to the new account')
    .addHelpText('after', examples(['darkroom init', 'darkroom init --account studio --credits 10000'], ABOUT))
    .action((options: Options) => init(io, options));
}

function init(io: CliIo, options: Options): Promise<void> {
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
        show(io, { json: place.json, text: `${place.text} is ready; darkroom serve starts the service.` }, options);
        return;
      }
      const { accountId } = await createAccount(context, { name: options.account });
      if (credits > 0)
        await grantCredits(context, { accountId, operationId: context.ids.uuid(), credits, reason: 'First grant' });
      const { appId } = await createApp(context, { accountId, name: 'default' });
      const { key, secret } = await createKey(context, { appId, name: 'first key' });
      show(
        io,
        {
          json: { ...place.json, account_id: accountId, app_id: appId, key_id: key.keyId, secret, credits },
          text: facts([
            ...Object.entries(place.json).map(([name, value]) => [name.replaceAll('_', ' '), value] as const),
            ['account', accountId],
            ['app', appId],
            ['credits', credits],
            ['secret', secret],
          ]),
        },
        options,
      );
      if (!options.json) say(io, 'The secret is kept nowhere else and cannot be shown again.');
    },
    { create: true },
  );
}
