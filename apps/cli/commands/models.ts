import type { Command } from 'commander';
import type { Model } from '../../../clients/typescript/src/index.js';
import type { JsonObject } from '../../../core/json.js';
import { type ConnectionOptions, connectPublicly } from '../client/connection.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { facts, show, table } from '../terminal.js';
import { clientCommand, examples } from './client-command.js';

type Options = ConnectionOptions & { readonly json?: boolean };

/** `darkroom models`: what the server offers. Needs no key. */
export function addModels(program: Command, io: CliIo): void {
  clientCommand(program, 'models [model_key]')
    .description('list the models of the server, or show one with its parameters')
    .addHelpText('after', examples(['darkroom models', 'darkroom models sandbox-image', 'darkroom models --json']))
    .action((modelKey: string | undefined, options: Options) => models(io, modelKey, options));
}

async function models(io: CliIo, modelKey: string | undefined, options: Options): Promise<void> {
  const all = await connectPublicly(io, options).models();
  if (modelKey === undefined) {
    const rows = all.map((model) => [model.model_key, model.modality, priceText(model), model.display_name]);
    show(io, { json: { models: all }, text: table(['model', 'modality', 'credits', 'name'], rows) }, options);
    return;
  }
  const model = all.find(({ model_key }) => model_key === modelKey);
  if (!model)
    throw usageFailure(
      `There is no model ${modelKey}; the server has ${all.map(({ model_key }) => model_key).join(', ')}.`,
    );
  show(io, { json: model, text: modelText(model) }, options);
}

function priceText({ price, price_unit }: Model): string {
  return price === undefined ? 'see estimate' : `${price} per ${price_unit ?? 'unit'}`;
}

function modelText(model: Model): string {
  const { limits } = model;
  const about = facts([
    ['model', model.model_key],
    ['name', model.display_name],
    ['about', model.description],
    ['operations', model.operations.join(', ')],
    ['credits', priceText(model)],
    ['outputs', `up to ${limits.max_outputs}`],
    [
      'references',
      limits.max_reference_uploads === 0
        ? 'none'
        : `up to ${limits.max_reference_uploads} (${limits.reference_roles.join(', ')})`,
    ],
    ['negative prompt', limits.negative_prompt ? 'yes' : 'no'],
  ]);
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
