import type { Command } from 'commander';
import { ApiError, type Balance, Darkroom } from '../../../clients/typescript/src/index.js';
import { amountText } from '../amount.js';
import {
  type ConnectionOptions,
  profilePath,
  readKey,
  readProfile,
  readSecret,
  rememberKey,
  serverUrl,
} from '../client/connection.js';
import type { CliIo } from '../io.js';
import { show } from '../terminal.js';
import { clientCommand, examples } from './client-command.js';

type Options = ConnectionOptions & { readonly json?: boolean };

const ABOUT = 'The key is asked for, or read from a pipe; it is never an argument, where others could see it.';

/** `darkroom login`: keeps an API key where only its owner can read it. */
export function addLogin(program: Command, io: CliIo): void {
  clientCommand(program, 'login')
    .description('check an API key against a server and store both')
    .addHelpText(
      'after',
      examples(['darkroom login --url https://pictures.example', 'darkroom login < key.txt'], ABOUT),
    )
    .action((options: Options) => login(io, options));
}

async function login(io: CliIo, options: Options): Promise<void> {
  const url = serverUrl(io, options);
  // An invalid profile is reported before the key is requested.
  readProfile(io);
  const key = readKey(await readSecret(io, `API key for ${url}: `));
  const balance = await check(new Darkroom({ baseUrl: url, apiKey: key }));
  rememberKey(io, url, key);
  const credits =
    balance === undefined ? '' : ` The account has ${amountText(balance.balance_credits, balance.currency)}.`;
  show(
    io,
    {
      json: {
        url,
        profile: profilePath(io),
        ...(balance === undefined ? {} : { balance_credits: balance.balance_credits, currency: balance.currency }),
      },
      text: `Logged in to ${url}.${credits}`,
    },
    options,
  );
}

/** A key that may not read the balance is still valid. */
async function check(client: Darkroom): Promise<Balance | undefined> {
  try {
    return await client.credits();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'DEVELOPER_SCOPE_INSUFFICIENT') return undefined;
    throw error;
  }
}
