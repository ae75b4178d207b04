import type { Command } from 'commander';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { amountText } from '../amount.js';
import type { CliIo } from '../io.js';
import { show } from '../terminal.js';
import { clientCommand } from './client-command.js';
import { examples } from './examples.js';

type Options = ConnectionOptions & { readonly json?: boolean };

/** `darkroom credits`: the balance of the key's account. */
export function addCredits(program: Command, io: CliIo): void {
  clientCommand(program, 'credits')
    .description("show the account's balance")
    .addHelpText('after', examples(['darkroom credits', 'darkroom credits --json']))
    .action((options: Options) => credits(io, options));
}

async function credits(io: CliIo, options: Options): Promise<void> {
  const data = await connect(io, options).credits();
  show(io, { json: data, text: amountText(data.balance_credits, data.currency) }, options);
}
