import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { moreJson, moreText, pageRequest, withPaging, type PageOptions } from '../operator/paging.js';
import { appJson } from '../../operator/records.js';
import { facts, isoTime, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './examples.js';

/** `darkroom apps`: an account's Apps, each with its own keys and tasks. */
export function addApps(program: Command, io: CliIo): void {
  const apps = program.command('apps').description("an account's Apps, which own keys, uploads and generations");
  operatorCommand(apps, 'create <account_id> <name>')
    .description('make an App')
    .addHelpText('after', examples([`darkroom apps create ${EXAMPLE_ID} website`]))
    .action((accountId: string, name: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const app = await operator.createApp({ accountId, name });
        show(
          io,
          {
            json: appJson(app),
            text: facts([
              ['app', app.appId],
              ['account', app.accountId],
              ['name', app.name],
            ]),
          },
          options,
        );
      }),
    );
  withPaging(operatorCommand(apps, 'list <account_id>'))
    .description('list the Apps of an account')
    .addHelpText('after', examples([`darkroom apps list ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async (operator) => {
        const page = await operator.listApps(accountId, pageRequest(options));
        const rows = page.items.map((app) => [app.appId, app.name, isoTime(app.createdAt)]);
        show(
          io,
          {
            json: { apps: page.items.map(appJson), ...moreJson(page) },
            text: table(['app', 'name', 'created'], rows) + moreText(page),
          },
          options,
        );
      }),
    );
}
