import { createHash } from 'node:crypto';
import type { Model } from '../../../core/catalog/model.js';
import { similarKeys } from '../../../core/catalog/find-model.js';
import { requestedSize } from '../../../core/catalog/price.js';
import type { Models } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { Generation, Modality } from '../../../core/generation/generation.js';
import { needsMask } from '../../../core/generation/quote.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { parseJson } from '../host/request.js';
import { ApiRefusal } from './errors.js';

/** The fields of a request, from JSON or from a form, whose values are texts. No field is null. */
export type Fields = Readonly<Record<string, Json>>;

/** A null field is one that was left out. */
export function withoutNulls(body: JsonObject): Fields {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

/** A request in the terms of the service. */
export interface MappedRequest {
  readonly model: Model;
  /** The body of a create, without references. */
  readonly body: JsonObject;
}

type Catalog = Pick<Models, 'catalog'>;

/** Fields that say how to answer, or that name files. They are read elsewhere. */
const OWN_FIELDS = new Set(['model', 'prompt', 'negative_prompt', 'user', 'safety_identifier']);
const ANSWER_FIELDS = new Set(['response_format', 'stream']);

/** Hints that are ignored where the model does not have them: nothing that is visible depends on them. */
const HINTS = new Set([
  'quality',
  'style',
  'moderation',
  'input_fidelity',
  'output_compression',
  'partial_images',
  'complexity',
]);

/** How a form names the member of an object, or, without a name, the entries of a list. */
const MEMBER = /^([^[\]]+)\[([^[\]]*)\]$/;

/**
 * Maps the fields of a request to the body of a create. Texts of a form become what the schema of the model says. Throws
 * `model_not_found`, `invalid_value`, `missing_required_parameter` and `unknown_parameter`; the parameters themselves are
 * checked by the create, whose refusals `renamed` gives the names that the client used.
 */
export function mapFields(ports: Catalog, fields: Fields, modality: Modality): MappedRequest {
  const model = findModel(ports, fields, modality);
  const names = parameterNames(model);
  const properties = propertiesOf(model);
  const parameters: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (OWN_FIELDS.has(name) || (modality === 'image' && ANSWER_FIELDS.has(name))) continue;
    const [, object = name, member] = MEMBER.exec(name) ?? [];
    const schema = Object.hasOwn(properties, object) ? properties[object] : undefined;
    const types = typesOf(schema);
    if (member === '' && Array.isArray(value) && types.includes('array') && !(object in fields)) {
      parameters[object] = value.map((entry) => typed(schema?.['items'] as JsonObject | undefined, entry));
      continue;
    }
    if (member && schema !== undefined && types.includes('object') && !(object in fields)) {
      const members = parameters[object] as JsonObject | undefined;
      parameters[object] = { ...members, [member]: typed(propertiesOf({ inputSchema: schema })[member], value) };
      continue;
    }
    const parameter = parameterOf(model, names, name, value);
    const listed = name === 'size' ? listedSize(model, value) : undefined;
    const chosen = listed ?? (parameter === undefined ? {} : { [parameter]: typed(properties[parameter], value) });
    if (Object.keys(chosen).some((one) => Object.hasOwn(parameters, one)))
      throw new ApiRefusal(
        'FIELD_INVALID',
        `${name} is another name of a field that is there; send one of them.`,
        name,
      );
    Object.assign(parameters, chosen);
  }
  return {
    model,
    body: {
      model_key: model.modelKey,
      operation: modality === 'image' ? 'image_generation' : 'video_generation',
      ...only(fields, 'prompt'),
      ...only(fields, 'negative_prompt'),
      parameters,
      ...traceOf(fields),
    },
  };
}

/**
 * The parameters that choose a size, for a model with a table of sizes; undefined where the size is a parameter of its own
 * or is left to the model. Throws `invalid_value` for a size that the table does not have.
 */
function listedSize(model: Model, size: Json): JsonObject | undefined {
  const { sizeTable } = model.price;
  if (sizeTable === undefined || size === 'auto') return undefined;
  const found = sizeTable.sizes.find((one) => sizeText(one) === size);
  if (found !== undefined)
    return Object.fromEntries(sizeTable.parameters.map((name, index) => [name, found.values[index] ?? null]));
  if (Object.hasOwn(propertiesOf(model), 'size')) return undefined;
  const sizes = [...new Set(sizeTable.sizes.map(sizeText))].join(', ');
  throw new ApiRefusal('FIELD_INVALID', `size must be one of ${sizes} for ${model.modelKey}.`, 'size');
}

function sizeText({ widthPx, heightPx }: { readonly widthPx: number; readonly heightPx: number }): string {
  return `${widthPx}x${heightPx}`;
}

/**
 * The size of what was made: the one that was asked for, or the size of the first output where the model has no parameter
 * for it, is no longer in the catalog, or leaves the choice to its provider.
 */
export function sizeOf(
  { catalog }: Catalog,
  { modelKey, parameters, outputs: [first] }: Pick<Generation, 'modelKey' | 'parameters' | 'outputs'>,
): string | undefined {
  const model = catalog.find(modelKey);
  const listed = model?.price.sizeTable === undefined ? undefined : requestedSize(model.price, parameters);
  if (listed !== undefined) return sizeText(listed);
  const name = model === undefined ? 'size' : parameterNames(model).size;
  const size = name === undefined ? undefined : parameters[name];
  if (typeof size === 'string' && size !== 'auto') return size;
  return first === undefined ? undefined : sizeText(first);
}

function only(fields: Fields, name: string): JsonObject {
  const value = fields[name];
  return value === undefined ? {} : { [name]: value };
}

function findModel({ catalog }: Catalog, { model: sent }: Fields, modality: Modality): Model {
  if (sent === undefined) throw new ApiRefusal('FIELD_REQUIRED', 'model is required.', 'model');
  if (typeof sent !== 'string') throw new ApiRefusal('FIELD_INVALID', 'model must be a text.', 'model');
  const model = modelNamed({ catalog }, sent);
  if (model.modality !== modality)
    throw new ApiRefusal('FIELD_INVALID', `${sent} makes ${model.modality}s; name a model for ${modality}s.`, 'model');
  return model;
}

/** The model with this key. Throws `model_not_found`, and names keys that are spelt like it. */
export function modelNamed({ catalog }: Catalog, name: string): Model {
  const model = catalog.find(name);
  if (model !== undefined) return model;
  const others = similarKeys(catalog, name) || '; GET /v1/models lists those that do';
  const message = `The model ${JSON.stringify(name.slice(0, 200))} does not exist${others}.`;
  throw new ApiRefusal('NOT_FOUND', message, 'model', 'model_not_found');
}

/** The parameters of a model that this API has names of its own for. */
interface ParameterNames {
  readonly n: string | undefined;
  readonly size: string | undefined;
  readonly seconds: string | undefined;
  readonly output_format: string | undefined;
}

export function parameterNames(model: Model): ParameterNames {
  const properties = propertiesOf(model);
  const { countParameter, sizeParameter, durationParameter } = model.price;
  const own = (name: string) => (Object.hasOwn(properties, name) ? name : undefined);
  return {
    n: countParameter ?? own('n'),
    size: sizeParameter ?? own('size'),
    seconds: model.modality === 'video' ? (durationParameter ?? own('seconds') ?? own('duration_seconds')) : undefined,
    output_format: own('format') ?? own('output_format'),
  };
}

function propertiesOf({ inputSchema }: Pick<Model, 'inputSchema'>): Readonly<Record<string, JsonObject>> {
  return (inputSchema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;
}

/** The parameter that a field sets; undefined where the field is ignored. Throws where it can be neither. */
function parameterOf(model: Model, names: ParameterNames, name: string, value: Json): string | undefined {
  const isKnown = Object.hasOwn(propertiesOf(model), name);
  const parameter = Object.hasOwn(names, name) ? names[name as keyof ParameterNames] : isKnown ? name : undefined;
  if (parameter !== undefined) return value === 'auto' && !takesAuto(model, parameter) ? undefined : parameter;
  if (name === 'size' || HINTS.has(name)) return undefined;
  if (name === 'n') {
    if (value === 1 || value === '1' || value === 'auto') return undefined;
    throw new ApiRefusal('FIELD_INVALID', `n must be 1 for ${model.modelKey}.`, 'n');
  }
  if (name === 'background') {
    if (value === 'auto' || value === 'opaque') return undefined;
    throw new ApiRefusal('FIELD_INVALID', `${model.modelKey} makes opaque pictures only.`, 'background');
  }
  if (name === 'output_format' && model.modality === 'image') {
    if (value === 'png' || value === 'auto') return undefined;
    throw new ApiRefusal('FIELD_INVALID', `output_format must be png for ${model.modelKey}.`, 'output_format');
  }
  const known = Object.keys(propertiesOf(model)).slice(0, MAX_NAMES).join(', ');
  const message = `Unknown parameter: ${JSON.stringify(name.slice(0, 100))}; ${model.modelKey} has ${known === '' ? 'none' : known}.`;
  throw new ApiRefusal('FIELD_INVALID', message, name, 'unknown_parameter');
}

/** How many parameters of a model a message names. */
const MAX_NAMES = 20;

function takesAuto(model: Model, parameter: string): boolean {
  const choices = propertiesOf(model)[parameter]?.['enum'];
  return Array.isArray(choices) && choices.includes('auto');
}

/** The value of a text that the schema wants as something else, which a form cannot send; any other value stays as it is. */
function typed(schema: JsonObject | undefined, value: Json): Json {
  if (typeof value !== 'string') return value;
  const types = typesOf(schema);
  const isOneOf = (...names: readonly string[]): boolean => names.some((name) => types.includes(name));
  if (isOneOf('string')) return value;
  if (isOneOf('integer', 'number') && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value);
  if (isOneOf('boolean') && (value === 'true' || value === 'false')) return value === 'true';
  return isOneOf('object', 'array') ? jsonIn(value) : value;
}

/** The types that a schema names, by the values of an enum or in its alternatives too; none where it names none. */
function typesOf({ type, enum: values, anyOf, oneOf }: JsonObject = {}): readonly Json[] {
  if (type !== undefined) return [type].flat();
  if (Array.isArray(values)) return values.map((value) => typeof value);
  return [anyOf, oneOf].flat().flatMap((one) => (one === undefined ? [] : typesOf(one as JsonObject)));
}

/** The value of a text that is JSON; any other text stays as it is. */
function jsonIn(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/**
 * The end user, as `user-` and the first 32 hexadecimal digits of the SHA-256 of the text: it may be an e-mail address. The
 * newer field comes first.
 */
function traceOf(fields: Fields): JsonObject {
  const user = [fields['safety_identifier'], fields['user']].find((value) => value !== undefined && value !== '');
  if (user === undefined) return {};
  const text = typeof user === 'string' ? user : JSON.stringify(user);
  return { client_trace_id: `user-${createHash('sha256').update(text).digest('hex').slice(0, 32)}` };
}

/** A refusal of the create with the names that the client used for its fields, or else those of this API. */
export function renamed(context: Pick<Models, 'providers'>, error: unknown, model: Model, fields: Fields): unknown {
  const [, first, parameter] = error instanceof ServiceError ? (error.details.pointer?.split('/') ?? []) : [];
  if (!(error instanceof ServiceError)) return error;
  if (first === 'reference_upload_ids') return withoutUploads(error, model, needsMask(context, model));
  if (first !== 'parameters' || parameter === undefined) return error;
  const found = Object.entries(parameterNames(model)).find(([, name]) => name === parameter);
  const name = Object.hasOwn(fields, parameter) ? parameter : (found?.[0] ?? parameter);
  return new ApiRefusal(error.code, error.message.replaceAll(`parameters.${parameter}`, name), name);
}

/** Rewrites a refusal about uploads: requests of this API carry files, a video at most one, which is a start frame or a reference. */
function withoutUploads({ code, message }: ServiceError, model: Model, isMaskNeeded: boolean): ApiRefusal {
  const { modality, modelKey, requiredRoles } = model;
  const param = modality === 'video' ? 'input_reference' : 'image';
  if (code !== 'FIELD_REQUIRED') return new ApiRefusal(code, message, param);
  if (modality === 'image') {
    const { length: count } = requiredRoles;
    const files = count > 1 ? `image must be at least ${count} files` : 'image is required';
    const needed = isMaskNeeded ? `${files}, with a mask,` : files;
    const sent = count > 1 || isMaskNeeded ? 'them' : 'it';
    const required = `${needed} for ${modelKey}; send ${sent} to /images/edits.`;
    return new ApiRefusal(code, required, isMaskNeeded ? 'mask' : param);
  }
  const isOne = requiredRoles.length === 1 && !requiredRoles.includes('end_frame');
  const wanted = [...new Set(requiredRoles)].map((role) => {
    const { length: count } = requiredRoles.filter((one) => one === role);
    return count === 1 ? `${role === 'end_frame' ? 'an' : 'a'} ${role}` : `${count} files of the role ${role}`;
  });
  const beyond = `${modelKey} requires ${wanted.join(' and ')}, which cannot be sent here.`;
  return new ApiRefusal(
    code,
    isOne ? `${param}${isMaskNeeded ? ' with transparent areas' : ''} is required for ${modelKey}.` : beyond,
    param,
  );
}
