import { ApiError, type Balance, Darkroom } from '../../../clients/typescript/src/index.js';
import {
  type ConnectionOptions,
  profilePath,
  readKey,
  readProfile,
  readSecret,
  rememberKey,
  serverUrl,
} from '../client/connection.js';
import { clientCommand, type CliCommand } from '../command.js';
import { amountText } from '../terminal.js';

const ABOUT = 'The key is asked for, or read from a pipe; it is never an argument, where others could see it.';

/** `darkroom login`: keeps an API key where only its owner can read it. */
export function addLogin(program: CliCommand): void {
  const { io } = program;
  clientCommand(program, 'login')
    .description('check an API key against a server and store both')
    .examples(['darkroom login --url https://pictures.example', 'darkroom login < key.txt'], ABOUT)
    .shows(async (options: ConnectionOptions) => {
      const url = serverUrl(io, options);
      // An invalid profile is reported before the key is requested.
      readProfile(io);
      const key = readKey(await readSecret(io, `API key for ${url}: `));
      const balance = await check(new Darkroom({ baseUrl: url, apiKey: key }));
      rememberKey(io, url, key);
      const json = { url, profile: profilePath(io) };
      if (balance === undefined) return { json, text: `Logged in to ${url}.` };
      const { balance_credits, currency } = balance;
      return {
        json: { ...json, balance_credits, currency },
        text: `Logged in to ${url}. The account has ${amountText(balance_credits, currency)}.`,
      };
    });
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
