import type { Caller } from '../access/credential.js';
import { assert } from '../assert.js';
import { similarKeys } from '../catalog/find-model.js';
import { placeRefusal } from '../catalog/injection.js';
import type { Model, ModelExample } from '../catalog/model.js';
import { creditsByOutputs, requestedSize, type Size } from '../catalog/price.js';
import type { Files, Machine, Models } from '../context.js';
import { ServiceError } from '../errors.js';
import { checkBody, faultRefusal, fieldInvalid, NOT_BLANK, type Wording } from '../fields.js';
import { escapePointerToken, type Json, type JsonObject } from '../json.js';
import type { Ports } from '../ports/ports.js';
import type { ProviderCapabilities } from '../ports/provider.js';
import type { Upload } from '../uploads/upload.js';
import { isFrame, MAX_PROMPT_LENGTH, type Operation, OPERATIONS, type ReferenceRole } from './generation.js';

export const MAX_REFERENCE_UPLOADS = 8;

/** The body of create and estimate. Restrictions of the model itself are checked later, against the catalog. */
export const GENERATION_REQUEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['model_key', 'operation', 'prompt'],
  properties: {
    model_key: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      description: 'Exact key of a model in the catalog.',
    },
    operation: {
      type: 'string',
      enum: [...OPERATIONS],
      description: 'Operation; the model must support it.',
    },
    prompt: {
      type: 'string',
      minLength: 1,
      maxLength: MAX_PROMPT_LENGTH,
      pattern: NOT_BLANK,
      description: 'Prompt, not only white space. Lengths count code points. Models that say so need none.',
    },
    negative_prompt: {
      type: 'string',
      maxLength: MAX_PROMPT_LENGTH,
      description: 'Negative prompt, for models that support it.',
    },
    parameters: { type: 'object', description: "Parameters, as the model's input_schema describes them." },
    reference_upload_ids: {
      type: 'array',
      maxItems: MAX_REFERENCE_UPLOADS,
      items: { type: 'string', format: 'uuid' },
      description:
        'Ids of completed uploads, without repetition. Transparent areas of a reference image are generated anew; a model without masks refuses it.',
    },
    client_trace_id: {
      type: 'string',
      maxLength: 128,
      pattern: '^[A-Za-z0-9._:-]+$',
      description: 'Trace id of your choice, returned with the task.',
    },
  },
} as const satisfies JsonObject;

/** The same, for models that do without a prompt. */
const PROMPTLESS_REQUEST_SCHEMA = { ...GENERATION_REQUEST_SCHEMA, required: ['model_key', 'operation'] };

const WORDING = {
  '/client_trace_id': 'client_trace_id must be 1 to 128 characters of A-Z, a-z, 0-9 and . _ : - alone.',
} as const;

export interface GenerationRequest {
  /** The body without null fields: what the digest under an idempotency key is of. */
  readonly content: JsonObject;
  readonly modelKey: string;
  readonly operation: Operation;
  /** Empty where there is none. */
  readonly prompt: string;
  readonly negativePrompt?: string;
  readonly parameters: JsonObject;
  readonly referenceUploadIds: readonly string[];
  readonly clientTraceId?: string;
  /** Sent beside the body. */
  readonly webhookUrl?: string;
}

interface Body {
  model_key: string;
  operation: Operation;
  prompt?: string;
  negative_prompt?: string;
  parameters?: JsonObject;
  reference_upload_ids?: string[];
  client_trace_id?: string;
}

/** The catalog says which models do without a prompt; otherwise it is for hints in refusals alone. */
type RequestPorts = Pick<Ports, 'jsonSchemas'> & Partial<Pick<Ports, 'catalog'>>;

/**
 * Messages for fields that need custom wording, including an unknown field that is a parameter of the requested model.
 */
export function requestWording(ports: RequestPorts, body: Json): Wording {
  return { ...WORDING, ...misplacedParameters(ports, body) };
}

function misplacedParameters({ catalog }: RequestPorts, body: Json): Wording {
  const model = modelIn(catalog, body);
  if (model === undefined) return {};
  const misplaced = Object.keys(model.inputSchema['properties'] ?? {}).filter(
    (name) => Object.hasOwn(body as JsonObject, name) && !Object.hasOwn(GENERATION_REQUEST_SCHEMA.properties, name),
  );
  return Object.fromEntries(
    misplaced.map((name) => [
      `/${escapePointerToken(name)}`,
      `${name} is not a field; it is a parameter of ${model.modelKey}: send it in parameters.`,
    ]),
  );
}

/** The model that a body names, if there is one. */
function modelIn(catalog: RequestPorts['catalog'], body: Json): Model | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const modelKey = body['model_key'];
  return typeof modelKey === 'string' ? catalog?.find(modelKey) : undefined;
}

/**
 * Reads the body. Refuses with FIELD_REQUIRED or FIELD_INVALID for the first fault. Unless it is said, the model that the
 * body names decides whether there must be a prompt; of an unknown model there must be one.
 */
export function readGenerationRequest(
  ports: RequestPorts,
  body: Json,
  needsPrompt = (modelIn(ports.catalog, body)?.promptRule ?? 'required') === 'required',
): GenerationRequest | ServiceError {
  const schema = needsPrompt ? GENERATION_REQUEST_SCHEMA : PROMPTLESS_REQUEST_SCHEMA;
  const fields = checkBody<Body>(ports, schema, body, () => requestWording(ports, body));
  if (fields instanceof ServiceError) return fields;
  const ids = (fields.reference_upload_ids ?? []).map((id) => id.toLowerCase());
  const second = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (second >= 0)
    return fieldInvalid(`/reference_upload_ids/${second}`, 'reference_upload_ids must not name an upload twice.');
  return {
    content: fields,
    modelKey: fields.model_key,
    operation: fields.operation,
    prompt: fields.prompt ?? '',
    ...(fields.negative_prompt === undefined ? {} : { negativePrompt: fields.negative_prompt }),
    parameters: fields.parameters ?? {},
    referenceUploadIds: ids,
    ...(fields.client_trace_id === undefined ? {} : { clientTraceId: fields.client_trace_id }),
  };
}

/** A request that the catalog and the uploads allow, with what it will cost. */
export interface Quote {
  readonly model: Model;
  /** With the model's defaults filled in. */
  readonly parameters: JsonObject;
  readonly uploads: readonly Upload[];
  readonly creditsByOutputs: readonly number[];
  /** The most it can cost, which is the amount that is estimated and reserved. */
  readonly credits: number;
}

/**
 * Checks a request against the model and the caller's uploads. Refuses with FIELD_INVALID or FIELD_REQUIRED. Files of the
 * roles in `rolesToCome` are added later.
 */
export async function quoteGeneration(
  context: Files & Models & Machine,
  caller: Caller,
  request: GenerationRequest,
  rolesToCome: readonly ReferenceRole[] = [],
): Promise<Quote | ServiceError> {
  const model = context.catalog.find(request.modelKey);
  if (!model) return unknownModel(context, request.modelKey);
  if (!model.operations.includes(request.operation)) {
    return fieldInvalid(
      '/operation',
      `operation must be one that ${model.modelKey} offers: ${model.operations.join(', ')}.`,
    );
  }
  const parameters = parametersFor(context, model, request);
  if (parameters instanceof ServiceError) return parameters;
  const uploads = await readyUploads(context, caller, model, request.referenceUploadIds);
  if (uploads instanceof ServiceError) return uploads;
  const roles = [...rolesToCome, ...uploads.map(({ role }) => role)];
  const missing = model.requiredRoles.find((role) => countOf(role, roles) < countOf(role, model.requiredRoles));
  if (missing !== undefined) return roleMissing(model, missing);
  if (isMaskMissing(context, model, uploads, rolesToCome)) return maskMissing(model);

  const table = creditsByOutputs(model, parameters, sizesOf(uploads));
  return { model, parameters, uploads, creditsByOutputs: table, credits: table.at(-1) ?? 0 };
}

/** The parameters with the model's defaults. Refuses them, or the texts, where the model does not take them. */
function parametersFor(
  context: Pick<Machine, 'jsonSchemas' | 'topLevelDomains'>,
  model: Model,
  request: GenerationRequest,
): JsonObject | ServiceError {
  const promptFault = promptRefusal(model, request);
  if (promptFault !== undefined) return promptFault;
  const { faults, withDefaults } = context.jsonSchemas.check(model.inputSchema, request.parameters, '/parameters');
  const [fault] = faults;
  if (fault !== undefined) return faultRefusal(fault);
  const parameters = withDefaults as JsonObject;
  return placeRefusal(context, request.parameters, ['parameters']) ?? sizeRefusal(model, parameters) ?? parameters;
}

/** Why the service would not accept the example as a request; pointers into the example. */
export function exampleRefusal(
  context: Pick<Machine, 'jsonSchemas' | 'topLevelDomains'>,
  model: Model,
  { prompt, parameters }: ModelExample,
): ServiceError | undefined {
  const body = {
    model_key: model.modelKey,
    operation: model.operations[0] ?? '',
    ...(prompt === undefined ? {} : { prompt }),
    ...(parameters === undefined ? {} : { parameters }),
  };
  const request = readGenerationRequest(context, body, model.promptRule === 'required');
  if (request instanceof ServiceError) return request;
  const read = parametersFor(context, model, request);
  return read instanceof ServiceError ? read : undefined;
}

/** The sizes of reference files, as the check of each upload found them. */
export function sizesOf(uploads: readonly Upload[]): readonly Size[] {
  return uploads.map(({ ready }) => {
    assert(ready, 'a quoted upload is ready');
    return ready;
  });
}

function unknownModel({ catalog }: Models, modelKey: string): ServiceError {
  return fieldInvalid(
    '/model_key',
    `model_key must be the key of a model in the catalog${similarKeys(catalog, modelKey)}.`,
  );
}

/** The prompt is looked for again: the catalog may have changed since the body was read. */
function promptRefusal(model: Model, { prompt, negativePrompt }: GenerationRequest): ServiceError | undefined {
  const { modelKey, promptRule, maxPromptCharacters: most } = model;
  if (prompt === '' && promptRule === 'required')
    return faultRefusal({ kind: 'required', pointer: '/prompt', field: 'prompt', message: 'prompt is required.' });
  if (negativePrompt !== undefined && !model.limits.negativePrompt)
    return fieldInvalid('/negative_prompt', `negative_prompt is not supported by ${modelKey}.`);
  for (const [name, text = ''] of Object.entries({ prompt, negative_prompt: negativePrompt }))
    if (isLonger(text, most))
      return fieldInvalid(`/${name}`, `${name} must be at most ${most} characters for ${modelKey}.`);
  return undefined;
}

/** Whether a text has more code points than `most`. */
function isLonger(text: string, most: number): boolean {
  return text.length > most && Array.from(text).length > most;
}

function countOf(role: ReferenceRole, roles: readonly ReferenceRole[]): number {
  return roles.filter((one) => one === role).length;
}

function isMasked({ ready }: Upload): boolean {
  return ready?.isMasked === true;
}

function roleMissing({ modelKey, requiredRoles }: Model, role: ReferenceRole): ServiceError {
  const count = countOf(role, requiredRoles);
  const files = count === 1 ? 'a file' : `at least ${count} files`;
  return uploadsRequired(`${files} of the role ${role}, which ${modelKey} requires`);
}

/** The provider is asked last: most models take no reference image, and most requests for the others have what they need. */
function isMaskMissing(
  models: Models,
  model: Model,
  uploads: readonly Upload[],
  rolesToCome: readonly ReferenceRole[],
): boolean {
  if (!model.limits.referenceRoles.includes('reference_image')) return false;
  return !rolesToCome.includes('reference_image') && !uploads.some(isMasked) && needsMask(models, model);
}

function maskMissing({ modelKey }: Model): ServiceError {
  return uploadsRequired(`a reference_image with transparent areas, which ${modelKey} requires`);
}

function uploadsRequired(what: string): ServiceError {
  const field = 'reference_upload_ids';
  return faultRefusal({ kind: 'required', pointer: `/${field}`, field, message: `${field} must name ${what}.` });
}

/** A size that cannot be parsed could be neither priced nor checked against the delivered output. */
function sizeRefusal(model: Model, parameters: JsonObject): ServiceError | undefined {
  const name = model.price.sizeParameter;
  if (name === undefined || parameters[name] === undefined || requestedSize(model.price, parameters)) return undefined;
  return fieldInvalid(
    `/parameters/${escapePointerToken(name)}`,
    `parameters.${name} must be WIDTHxHEIGHT, each of 1 to 999999 pixels.`,
    `parameters.${name}`,
  );
}

async function readyUploads(
  context: Files & Models,
  caller: Caller,
  model: Model,
  ids: readonly string[],
): Promise<Upload[] | ServiceError> {
  const { maxReferenceUploads } = model.limits;
  if (ids.length > maxReferenceUploads) {
    return fieldInvalid(
      '/reference_upload_ids',
      `reference_upload_ids must have at most ${maxReferenceUploads} entries for ${model.modelKey}.`,
    );
  }
  const uploads: Upload[] = [];
  for (const [index, id] of ids.entries()) {
    const record = await context.uploads.read(id);
    const pointer = `/reference_upload_ids/${index}`;
    const isOwn = record?.kind === 'upload' && record.accountId === caller.accountId && record.appId === caller.appId;
    // Another App's upload, an unfinished one and an unknown id get the same answer.
    if (!isOwn || record.status !== 'ready')
      return fieldInvalid(pointer, 'reference_upload_ids must name completed uploads of this App.');
    const message = fileFault(record, model, uploads) ?? maskFault(context, record, model, uploads);
    if (message !== undefined) return fieldInvalid(pointer, message);
    uploads.push(record);
  }
  return uploads;
}

/** Why the model does not take the file, as a sentence. */
function fileFault(upload: Upload, model: Model, before: readonly Upload[]): string | undefined {
  const { limits, modelKey } = model;
  if (!limits.referenceRoles.includes(upload.role)) return `${modelKey} does not take a ${upload.role}.`;
  if (!limits.uploadMediaTypes.includes(upload.mediaType))
    return `${modelKey} does not take ${upload.mediaType} files.`;
  if (upload.byteSize > limits.maxUploadBytes)
    return `${modelKey} takes files of at most ${limits.maxUploadBytes} bytes.`;
  if (isFrame(upload.role) && before.some((other) => other.role === upload.role))
    return `reference_upload_ids must have at most one ${upload.role}.`;
  return undefined;
}

/**
 * Why a file with transparent areas is refused. The task may go to any provider of the model's route, so all of them
 * must take masks.
 */
function maskFault(models: Models, upload: Upload, model: Model, before: readonly Upload[]): string | undefined {
  const { modelKey } = model;
  if (!isMasked(upload)) return undefined;
  if (upload.role !== 'reference_image')
    return `The ${upload.role} must not have transparent areas; upload an opaque file.`;
  const maxMasked = maxMaskedReferences(models, model);
  if (maxMasked === 0) return `${modelKey} takes no file with transparent areas; upload an opaque file.`;
  if (before.filter(isMasked).length >= maxMasked)
    return `${modelKey} takes at most ${maxMasked} file${maxMasked === 1 ? '' : 's'} with transparent areas.`;
  return undefined;
}

/** How many files with transparent areas the model takes; Infinity where no provider of its route is connected. */
export function maxMaskedReferences(models: Pick<Models, 'providers'>, model: Model): number {
  return Math.min(...connectedRoute(models, model).map(({ maxMaskedReferences: most = 0 }) => most));
}

/** Whether a provider of the model's route needs a file with transparent areas: the task may go to any of them. */
export function needsMask(models: Pick<Models, 'providers'>, model: Model): boolean {
  return connectedRoute(models, model).some((capabilities) => capabilities.needsMask === true);
}

function connectedRoute({ providers }: Pick<Models, 'providers'>, { route }: Model): readonly ProviderCapabilities[] {
  return route.flatMap(({ provider, settings }) => providers.find(provider)?.capabilities(settings) ?? []);
}

const PROMPT = 'a lighthouse at dusk';

/**
 * A request for a picture that the catalog accepts without changes, whatever the account has; undefined if there is
 * none.
 */
export async function exampleRequest(
  context: Files & Models & Machine,
  caller: Caller,
): Promise<JsonObject | undefined> {
  for (const model of context.catalog.models()) {
    const body = requestFor(model);
    const request = body && readGenerationRequest(context, body);
    if (request === undefined || request instanceof ServiceError) continue;
    if (!((await quoteGeneration(context, caller, request)) instanceof ServiceError)) return body;
  }
  return undefined;
}

function requestFor({ modelKey, operations, inputSchema, promptRule }: Model): JsonObject | undefined {
  if (!operations.includes('image_generation') || promptRule === 'none') return undefined;
  const parameters = requiredParameters(inputSchema);
  return {
    model_key: modelKey,
    operation: 'image_generation',
    prompt: PROMPT,
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  };
}

/** A plain value for each parameter that must be there. Those for which the schema names none are left out. */
function requiredParameters({ required = [], properties = {} }: JsonObject): JsonObject {
  const names = Array.isArray(required) ? required.map(String) : [];
  const schemas = properties as Readonly<Record<string, JsonObject | undefined>>;
  return Object.fromEntries(
    names.flatMap((name): [string, Json][] => {
      const value = plainValue(schemas[name] ?? {});
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function plainValue({ default: byDefault, const: only, enum: choices, minimum }: JsonObject): Json | undefined {
  return byDefault ?? only ?? (Array.isArray(choices) ? choices[0] : undefined) ?? minimum;
}
