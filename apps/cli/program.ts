import { readFileSync } from 'node:fs';
import { Command, type OutputConfiguration } from 'commander';
import { addAccounts } from './commands/accounts.js';
import { addApps } from './commands/apps.js';
import { addBackup } from './commands/backup.js';
import { addCancel } from './commands/cancel.js';
import { addCatalog } from './commands/catalog.js';
import { addConfig } from './commands/config.js';
import { addCreditOperations } from './commands/credit-operations.js';
import { addCredits } from './commands/credits.js';
import { addEstimate } from './commands/estimate.js';
import { addGenerate } from './commands/generate.js';
import { addGenerations } from './commands/generations.js';
import { addImports } from './commands/imports.js';
import { addInit } from './commands/init.js';
import { addKeys } from './commands/keys.js';
import { addLedger } from './commands/ledger.js';
import { addLogin } from './commands/login.js';
import { addMigrate } from './commands/migrate.js';
import { addModels } from './commands/models.js';
import { addPeople } from './commands/people.js';
import { addProviders } from './commands/providers.js';
import { addRecover } from './commands/recover.js';
import { addServe } from './commands/serve.js';
import { addStatus } from './commands/status.js';
import { addUsage } from './commands/usage.js';
import { addWebhooks } from './commands/webhooks.js';
import { addVerify } from './commands/verify.js';
import type { CliIo, Output } from './io.js';

const PACKAGE = new URL('../../../package.json', import.meta.url);

/** Of help that goes to no terminal. */
const DEFAULT_WIDTH = 80;

const ABOUT = `
Exit codes: 0 done, 1 failure, 2 usage, 3 refused by the server, 4 the generation failed, 130 cancelled.

Variables:
  DARKROOM_API_KEY        the key to call a server with; else the one darkroom login stored
  DARKROOM_URL            the server's address
  DARKROOM_SERVICE_TOKEN  the token to operate a server with, with --grpc
  DARKROOM_WEBHOOK_SECRET what darkroom webhooks listen signs with
  DARKROOM_PROFILE        where darkroom login stores keys
  DARKROOM_CONFIG         the configuration file of serve and of the commands on the data folder
  DARKROOM_DEBUG=1        shows the cause of an error`;

/** The whole command line: first what a developer needs, then what an operator needs. */
export function createProgram(io: CliIo): Command {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  const program = new Command('darkroom')
    .description('A self-hosted service that makes images and videos.')
    .version(version)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput(outputOf(io))
    .addHelpText('after', ABOUT);
  program.commandsGroup('Use a server:');
  for (const add of [addGenerate, addEstimate, addModels, addCredits, addStatus, addCancel, addWebhooks, addLogin])
    add(program, io);
  program.commandsGroup('Run a server, on its stores:');
  const ofOperators = [
    addServe,
    addMigrate,
    addInit,
    addAccounts,
    addApps,
    addKeys,
    addPeople,
    addCreditOperations,
    addLedger,
    addUsage,
    addGenerations,
    addCatalog,
    addProviders,
    addConfig,
    addImports,
    addVerify,
    addRecover,
    addBackup,
  ];
  for (const add of ofOperators) add(program, io);
  return program;
}

/** Help and its own errors go where everything else of the run goes; it has no colours. */
function outputOf({ stdout, stderr }: CliIo): OutputConfiguration {
  const widthOf = (output: Output) => (output.isTTY ? (output.columns ?? DEFAULT_WIDTH) : DEFAULT_WIDTH);
  return {
    writeOut: (text) => {
      stdout.write(text);
    },
    writeErr: (text) => {
      stderr.write(text);
    },
    outputError: (text, write) => {
      write(text.replace(/^error: /, 'darkroom: '));
    },
    getOutHelpWidth: () => widthOf(stdout),
    getErrHelpWidth: () => widthOf(stderr),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  };
}
