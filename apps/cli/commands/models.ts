import type { Model } from '../../../clients/typescript/src/index.js';
import type { JsonObject } from '../../../core/json.js';
import { type ConnectionOptions, connectPublicly } from '../client/connection.js';
import { findModel } from '../client/generation-input.js';
import { clientCommand, type CliCommand } from '../command.js';
import { facts, table } from '../terminal.js';

/** `darkroom models`: what the server offers. Needs no key. */
export function addModels(program: CliCommand): void {
  clientCommand(program, 'models [model_key]')
    .description('list the models of the server, or show one with its parameters')
    .examples(['darkroom models', 'darkroom models sandbox-image', 'darkroom models --json'])
    .shows(async (modelKey: string | undefined, options: ConnectionOptions) => {
      const all = await connectPublicly(program.io, options).models();
      if (modelKey === undefined) {
        const rows = all.map((model) => [model.model_key, model.modality, priceText(model), model.display_name]);
        return { json: { models: all }, text: table(['model', 'modality', 'credits', 'name'], rows) };
      }
      const model = findModel(all, modelKey);
      return { json: model, text: modelText(model) };
    });
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
