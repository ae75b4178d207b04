import type { Command } from 'commander';
import { nearKeys } from '../../../core/catalog/find-model.js';
import { printable } from '../../logging/logged-fields.js';
import { capabilitiesJson, providerJson } from '../../operator/records.js';
import type { CheckedProvider } from '../../wiring/check-providers.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { operatorCommand, type OperatorOptions, withOperator } from '../operator/operator-command.js';
import { configOf, storeCommand, type StoreOptions } from '../operator/store-command.js';
import { providersText } from '../operator/texts.js';
import { counted, show } from '../terminal.js';
import { examples } from './client-command.js';

const ABOUT_CHECK = 'It needs no server of Darkroom. It makes no picture and costs nothing; it waits a minute at most.';

/** `darkroom providers`: what the workers see of providers, and whether these can be reached. */
export function addProviders(program: Command, io: CliIo): void {
  const providers = program.command('providers').description('the connected providers: their state, and their faults');
  operatorCommand(providers, 'list', { isDefault: true })
    .description('list the providers with what they promise and what the workers last saw of them')
    .addHelpText('after', examples(['darkroom providers', 'darkroom providers list --json']))
    .action((options: OperatorOptions) =>
      withOperator(
        io,
        options,
        async (operator) => {
          const all = await operator.listProviders();
          show(io, { json: { providers: all.map(providerJson) }, text: providersText(all) }, options);
        },
        { catalog: true },
      ),
    );
  storeCommand(providers, 'check [name]')
    .description('try the connection to each provider, or to one, and whether it has what the models need')
    .addHelpText('after', examples(['darkroom providers check', 'darkroom providers check studio'], ABOUT_CHECK))
    .action((name: string | undefined, options: StoreOptions) => check(io, name, options));
}

async function check(io: CliIo, name: string | undefined, options: StoreOptions): Promise<void> {
  const config = await configOf(io, options);
  const known = [...config.providers.keys()];
  if (name !== undefined && !known.includes(name)) throw unknown(name, known);
  // Loaded only now: help and the other commands start faster without it.
  const { checkProviders } = await import('../../wiring/check-providers.js');
  const checked = await checkProviders(config, { names: name === undefined ? known : [name] });
  const text = checked.flatMap(linesOf).map(printable).join('\n');
  show(io, { json: { providers: checked.map(checkJson) }, text }, options);
  const faulty = checked.filter(({ faults }) => faults.length > 0).length;
  if (faulty > 0)
    throw new Failure(
      `${faulty} of ${counted(checked.length, 'provider')} cannot be used as configured.`,
      undefined,
      'shown',
    );
}

function unknown(name: string, known: readonly string[]): Failure {
  const near = nearKeys(name, known);
  const names = near.length > 0 ? `similar names are ${near.join(', ')}` : `the names are ${known.join(', ')}`;
  return usageFailure(`There is no provider ${printable(name)} in the configuration; ${names}.`);
}

function linesOf({ name, faults, isTried, about }: CheckedProvider): readonly string[] {
  if (faults.length > 0) return faults.map((fault) => `${name}: ${fault}`);
  if (!isTried) return [`${name}: there is nothing to check.`];
  return [`${name}: ok${about === undefined ? '' : ` (${about})`}`];
}

function checkJson({ name, kind, isTried, about, faults, models }: CheckedProvider) {
  return {
    name,
    kind,
    is_tried: isTried,
    ...(about === undefined ? {} : { about }),
    faults,
    models: models.map(({ modelKey, capabilities }) => ({
      model_key: modelKey,
      promises: capabilitiesJson(capabilities),
    })),
  };
}
