import type { Model } from '../../../clients/typescript/src/index.js';
import type { JsonObject } from '../../../core/json.js';
import { printable } from '../../logging/logged-fields.js';
import { type ConnectionOptions, connectPublicly } from '../client/connection.js';
import { findModel } from '../client/generation-input.js';
import { clientCommand, type CliCommand, collect, storeCommand } from '../command.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { REF_EXAMPLES, REF_FORMS, readRef } from '../models/model-ref.js';
import type { StoreOptions } from '../operator/with-operator.js';
import { facts, type Shown, table } from '../terminal.js';

const ABOUT_ADD = `<ref> is one of:
${REF_FORMS.map((form) => `  ${form}`).join('\n')}

It shows the entry with what was guessed, asks, and adds it to the catalog. It writes darkroom.yaml and catalog.yaml where there are
none, and adds the provider to darkroom.yaml. The key of a provider is read from the configuration or its variable, and never written. Exit code 0 means that the entry is in the catalog; otherwise no file has changed.`;

const ABOUT_DIFF =
  'Exit code 0 means that nothing differs, 1 that something does, or that the vendor could not be read.';

/** `darkroom models`: what a server offers, and the models of the catalog with where they come from. */
export function addModels(program: CliCommand): void {
  const { io } = program;
  const models = program
    .command('models')
    .description('the models that a server offers to API keys, and those in the catalog of this installation');
  clientCommand(models, 'show [model_key]', { isDefault: true })
    .description('list the models that a server offers, or show one with its parameters; needs no key')
    .examples(
      ['darkroom models', 'darkroom models show sandbox-image', 'darkroom models --json'],
      'The commands add, list, diff and remove are for the catalog of this installation instead.',
    )
    .shows((modelKey: string | undefined, options: ConnectionOptions) => offered(io, modelKey, options));
  storeCommand(models, 'add <ref>')
    .description("add a model of a vendor to the catalog, by the vendor's own description of it")
    .option(
      '--price <credits>',
      'credits per unit of the price, such as 4 or 0.5; required where the vendor states no price',
    )
    .option('--dollar-credits <credits>', "what a dollar of the vendor's price is in credits", '100')
    .option('--markup <factor>', "the factor between the vendor's price and yours", '1.3')
    .option('--all', 'also offer fields that change the cost or the quality in ways that the price does not see')
    .option(
      '--set <field=value>',
      'send this value always; references=N is how many pictures the model takes (repeatable)',
      collect,
    )
    .option('--schema <file>', "read the vendor's answer from this file; needs no key and no network")
    .option('--key <model_key>', 'the key of the model, in place of the proposed one')
    .option(
      '--provider <name>',
      'the provider of the configuration, where there are several of the kind, or a new name',
    )
    .option('--yes', 'add it without asking')
    .examples(
      [
        `darkroom models add ${REF_EXAMPLES[0]}`,
        `darkroom models add ${REF_EXAMPLES[1]} --price 1 --yes`,
        `darkroom models add ${REF_EXAMPLES[0]} --schema answer.json --price 4`,
      ],
      ABOUT_ADD,
    )
    .action((ref: string, options: AddOptions) => add(io, ref, options));
  storeCommand(models, 'list')
    .description(
      "list the models in the catalog of this installation, where they come from, and whether the vendor's description has changed",
    )
    .examples(['darkroom models list', 'darkroom models list --json'])
    .shows(async (options: StoreOptions) => (await import('../models/compare-models.js')).listModels(io, options));
  storeCommand(models, 'diff <model_key>')
    .description('propose a model again as it was added, and show what differs from the catalog')
    .option('--schema <file>', "read the vendor's answer from this file; needs no key and no network")
    .examples(['darkroom models diff flux-schnell'], ABOUT_DIFF)
    .shows(async (key: string, options: StoreOptions & { readonly schema?: string }) =>
      (await import('../models/compare-models.js')).diffModel(io, key, options),
    );
  storeCommand(models, 'remove <model_key>')
    .description('take a model and its comments out of the catalog')
    .option('--yes', 'remove it without asking')
    .examples(['darkroom models remove flux-schnell', 'darkroom models remove flux-schnell --yes'])
    .action(async (key: string, options: StoreOptions & { readonly yes?: boolean }) => {
      const { removeModel } = await import('../models/remove-model.js');
      await removeModel(io, key, { ...options, yes: options.yes === true });
    });
}

interface AddOptions extends StoreOptions {
  readonly price?: string;
  readonly dollarCredits: string;
  readonly markup: string;
  readonly all?: boolean;
  readonly set?: readonly string[];
  readonly schema?: string;
  readonly key?: string;
  readonly provider?: string;
  readonly yes?: boolean;
}

async function add(io: CliIo, text: string, options: AddOptions): Promise<void> {
  const { schema, key, provider, config } = options;
  if (key !== undefined && !/^[a-z0-9._-]{1,128}$/.test(key))
    throw usageFailure('--key must have 1 to 128 of the characters a-z 0-9 . _ -.');
  if (provider !== undefined && !/^[a-z][a-z0-9_-]{0,63}$/.test(provider))
    throw usageFailure('--provider must be a name of lower-case letters, digits, hyphens and underscores.');
  // Loaded only now: help and the other commands start faster without it.
  const { addModel } = await import('../models/add-model.js');
  await addModel(io, {
    ref: readRef(text),
    options: {
      all: options.all === true,
      set: readSet(options.set ?? []),
      dollarCredits: readFactor('--dollar-credits', options.dollarCredits),
      markup: readFactor('--markup', options.markup),
      ...(options.price === undefined ? {} : { price: readPrice(options.price) }),
    },
    schema,
    key,
    provider,
    config,
    yes: options.yes === true,
    json: options.json === true,
  });
}

function readSet(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const [, name, value] = /^([A-Za-z_][A-Za-z0-9_.-]{0,63})=(.*)$/s.exec(text) ?? [];
      if (name === undefined || value === undefined)
        throw usageFailure(`--set must be a field and its value, such as references=4, not ${printable(text)}.`);
      return [name, value];
    }),
  );
}

const MAX_FACTOR = 1_000_000;
/** In millionths it is a safe integer. */
const MAX_PRICE = 9_000_000_000;

function readFactor(option: string, text: string): number {
  const factor = Number(text);
  if (!/^[0-9]{1,7}(?:\.[0-9]{1,6})?$/.test(text) || factor <= 0 || factor > MAX_FACTOR)
    throw usageFailure(
      `${option} must be a number above 0 and at most ${MAX_FACTOR}, with at most 6 decimal places, not ${printable(text)}.`,
    );
  return factor;
}

function readPrice(text: string): string {
  if (!/^(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,6})?$/.test(text) || Number(text) > MAX_PRICE)
    throw usageFailure(
      `--price must be a number of credits up to ${MAX_PRICE} with at most 6 decimal places, not ${printable(text)}.`,
    );
  return text;
}

async function offered(io: CliIo, modelKey: string | undefined, options: ConnectionOptions): Promise<Shown> {
  const all = await connectPublicly(io, options).models();
  if (modelKey === undefined) {
    const rows = all.map((model) => [model.model_key, model.modality, priceText(model), model.display_name]);
    return { json: { models: all }, text: table(['model', 'modality', 'credits', 'name'], rows) };
  }
  const model = findModel(all, modelKey);
  return { json: model, text: modelText(model) };
}

function priceText({ price, price_unit }: Model): string {
  return price === undefined ? 'see estimate' : `${price} per ${price_unit ?? 'unit'}`;
}

function modelText(model: Model): string {
  const { limits } = model;
  const roles = `up to ${limits.max_reference_uploads} (${limits.reference_roles.join(', ')})`;
  const about = facts({
    'model': model.model_key,
    'name': model.display_name,
    'about': model.description,
    'operations': model.operations.join(', '),
    'credits': priceText(model),
    'outputs': `up to ${limits.max_outputs}`,
    'references': limits.max_reference_uploads === 0 ? 'none' : roles,
    'negative prompt': limits.negative_prompt ? 'yes' : 'no',
  });
  const properties = Object.entries((model.input_schema['properties'] ?? {}) as Record<string, JsonObject>);
  const required = (model.input_schema['required'] ?? []) as readonly string[];
  const rows = properties.map(([name, schema]) => [
    name,
    valuesText(schema),
    required.includes(name) ? 'required' : defaultText(schema),
  ]);
  return `${about}\n\n${table(['parameter', 'values', 'default'], rows)}`;
}

function valuesText(schema: JsonObject): string {
  const { enum: listed, type, minimum, maximum, maxLength } = schema;
  if (Array.isArray(listed)) return listed.map(String).join(', ');
  const range =
    minimum === undefined && maximum === undefined
      ? ''
      : ` ${JSON.stringify(minimum ?? '')} to ${JSON.stringify(maximum ?? '')}`;
  const types = [type ?? 'any']
    .flat()
    .map((name) => (typeof name === 'string' ? name : JSON.stringify(name)))
    .join(' or ');
  return `${types}${range}${maxLength === undefined ? '' : ` of at most ${JSON.stringify(maxLength)} characters`}`;
}

function defaultText({ default: value }: JsonObject): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}
