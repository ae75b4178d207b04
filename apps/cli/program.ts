import type { OutputConfiguration } from 'commander';
import { readFileSync } from 'node:fs';
import { addAccounts } from './commands/accounts.js';
import { addCatalog, addImports } from './commands/catalog.js';
import { addCreditOperations, addCredits, addLedger } from './commands/credits.js';
import { addGenerate } from './commands/generate.js';
import { addCancel, addEstimate, addGenerations, addList, addStatus } from './commands/generations.js';
import { addConfig, addInit } from './commands/init.js';
import { addApps, addKeys } from './commands/keys.js';
import { addLogin } from './commands/login.js';
import { addModels } from './commands/models.js';
import { addPeople } from './commands/people.js';
import { addProviders } from './commands/providers.js';
import { addServe } from './commands/serve.js';
import { addBackup, addCopy, addMigrate, addRecover, addVerify } from './commands/stores.js';
import { addUsage } from './commands/usage.js';
import { addWebhooks } from './commands/webhooks.js';
import { asCalled } from './called-as.js';
import { CliCommand } from './command.js';
import type { CliIo, Output } from './io.js';

const PACKAGE = new URL('../../../package.json', import.meta.url);

/** The width of the help if it is not printed to a terminal. */
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
  DARKROOM_COMMAND        the command to print in texts, where it is not found by itself
  DARKROOM_DEBUG=1        shows the cause of an error`;

/** A text with the commands that it shows as this process was called. */
export function inCommands({ io, commands }: CliCommand, text: string): string {
  return asCalled(
    text,
    io.command,
    commands.map((one) => one.name()),
  );
}

/** The whole command line: first what a developer needs, then what an operator needs. */
export function createProgram(io: CliIo): CliCommand {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  const program: CliCommand = new CliCommand(io, 'darkroom')
    .description('A self-hosted service that makes images and videos.')
    .version(version)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput(outputOf(io, (text) => inCommands(program, text)))
    .addHelpText('after', ABOUT);
  program.commandsGroup('Use a server:');
  for (const add of [
    addGenerate,
    addEstimate,
    addModels,
    addCredits,
    addList,
    addStatus,
    addCancel,
    addWebhooks,
    addLogin,
  ])
    add(program);
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
    addCopy,
  ];
  for (const add of ofOperators) add(program);
  return program;
}

/** Help and its own errors go where everything else of the run goes; it has no colours. */
function outputOf({ stdout, stderr }: CliIo, asShown: (text: string) => string): OutputConfiguration {
  const widthOf = (output: Output) => (output.isTTY ? (output.columns ?? DEFAULT_WIDTH) : DEFAULT_WIDTH);
  return {
    writeOut: (text) => stdout.write(asShown(text)),
    writeErr: (text) => stderr.write(asShown(text)),
    outputError: (text, write) => write(text.replace(/^error: /, 'darkroom: ')),
    getOutHelpWidth: () => widthOf(stdout),
    getErrHelpWidth: () => widthOf(stderr),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  };
}
