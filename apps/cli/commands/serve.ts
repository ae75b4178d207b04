import type { Command } from 'commander';
import { loadConfig } from '../../config/load-config.js';
import type { Served } from '../../serve.js';
import { operatorCommand, type OperatorOptions } from '../operator/operator-command.js';
import { facts, show } from '../terminal.js';

/** `darkroom serve`: the whole service in one process, until it is asked to stop. */
export function addServe(program: Command): void {
  operatorCommand(program, 'serve')
    .description('run the service: requests, and the generations they ask for')
    .addHelpText('after', '\nThe first start of an empty data folder makes an account to try things with and shows its key, once. The log goes to\nstderr. Ctrl-C or SIGTERM stops it in order; a second time at once.\n\nExamples:\n  $ darkroom serve\n  $ DARKROOM_REST_PORT=9000 darkroom serve --config /etc/darkroom.yaml')
    .action(async (options: OperatorOptions) => {
      const config = loadConfig({ file: options.config });
      const { serve } = await import('../../serve.js');
      await serve(config, (served) => { showServed(served, options); });
    });
}

function showServed({ url, demo }: Pick<Served, 'url' | 'demo'>, options: OperatorOptions): void {
  const account = demo === null ? {} : { account_id: demo.accountId, app_id: demo.appId, secret: demo.secret };
  const pairs: [string, string][] = demo === null ? [] : [['account', demo.accountId], ['app', demo.appId], ['secret', `${demo.secret} (shown this once)`]];
  show({ json: { url, ...account }, text: facts([['serving', url], ...pairs]) }, options);
}
