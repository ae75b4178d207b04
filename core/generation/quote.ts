import type { Caller } from '../access/credential.js';
import { refusePlaces } from '../catalog/injection.js';
import type { Model } from '../catalog/model.js';
import { creditsByOutputs, requestedSize } from '../catalog/price.js';
import { similarKeys } from '../catalog/near-keys.js';
import type { ServiceError } from '../errors.js';
import { fieldInvalid, refuseFaults } from '../fields.js';
import { escapePointerToken, type JsonObject } from '../json.js';
import type { Ports } from '../ports/tokens.js';
import type { Upload } from '../uploads/upload.js';
import type { GenerationRequest } from './request.js';

/** A request that the catalog and the uploads allow, with what it will cost. */
export interface Quote {
  readonly model: Model;
  /** With the model's defaults filled in. */
  readonly parameters: JsonObject;
  readonly uploads: readonly Upload[];
  readonly creditsByOutputs: readonly number[];
  /** The most it can cost; what is estimated and reserved. */
  readonly credits: number;
}

type QuotePorts = Pick<Ports, 'catalog' | 'uploads' | 'jsonSchemas' | 'providers'>;

/** Checks a request against the model and the caller's uploads. Throws FIELD_INVALID or FIELD_REQUIRED. */
export async function quoteGeneration(ports: QuotePorts, caller: Caller, request: GenerationRequest): Promise<Quote> {
  const model = ports.catalog.find(request.modelKey);
  if (!model) throw unknownModel(ports, request.modelKey);
  if (!model.operations.includes(request.operation)) {
    throw fieldInvalid(
      '/operation',
      `operation must be one that ${model.modelKey} offers: ${model.operations.join(', ')}.`,
    );
  }
  if (request.negativePrompt !== undefined && !model.limits.negativePrompt) {
    throw fieldInvalid('/negative_prompt', `negative_prompt is not supported by ${model.modelKey}.`);
  }
  const { faults, withDefaults } = ports.jsonSchemas.check(model.inputSchema, request.parameters, '/parameters');
  refuseFaults(faults);
  refusePlaces(request.parameters, ['parameters']);
  refuseUnreadableSize(model, withDefaults as JsonObject);

  const uploads = await readyUploads(ports, caller, model, request.referenceUploadIds);
  const table = creditsByOutputs(model, withDefaults as JsonObject);
  return {
    model,
    parameters: withDefaults as JsonObject,
    uploads,
    creditsByOutputs: table,
    credits: table.at(-1) ?? 0,
  };
}

function unknownModel({ catalog }: QuotePorts, modelKey: string): ServiceError {
  return fieldInvalid(
    '/model_key',
    `model_key must be the key of a model in the catalog${similarKeys(catalog, modelKey)}.`,
  );
}

/** A size that cannot be read could be neither priced nor checked against what is delivered. */
function refuseUnreadableSize(model: Model, parameters: JsonObject): void {
  const name = model.price.sizeParameter;
  if (name === undefined || parameters[name] === undefined || requestedSize(model.price, parameters)) return;
  throw fieldInvalid(
    `/parameters/${escapePointerToken(name)}`,
    `parameters.${name} must be WIDTHxHEIGHT, each of 1 to 999999 pixels.`,
    `parameters.${name}`,
  );
}

async function readyUploads(
  ports: QuotePorts,
  caller: Caller,
  model: Model,
  ids: readonly string[],
): Promise<Upload[]> {
  const { maxReferenceUploads } = model.limits;
  if (ids.length > maxReferenceUploads) {
    throw fieldInvalid(
      '/reference_upload_ids',
      `reference_upload_ids must have at most ${maxReferenceUploads} entries for ${model.modelKey}.`,
    );
  }
  const uploads: Upload[] = [];
  for (const [index, id] of ids.entries()) {
    const record = await ports.uploads.read(id);
    const pointer = `/reference_upload_ids/${index}`;
    const isOwn = record?.kind === 'upload' && record.accountId === caller.accountId && record.appId === caller.appId;
    // Another App's upload, an unfinished one and an unknown id get the same answer.
    if (!isOwn || record.status !== 'ready')
      throw fieldInvalid(pointer, 'reference_upload_ids must name completed uploads of this App.');
    refuseUnfit(record, model, uploads, pointer);
    refuseMask(ports, record, model, uploads, pointer);
    uploads.push(record);
  }
  return uploads;
}

function refuseUnfit(upload: Upload, model: Model, before: readonly Upload[], pointer: string): void {
  const { limits } = model;
  if (!limits.referenceRoles.includes(upload.role))
    throw fieldInvalid(pointer, `${model.modelKey} does not take a ${upload.role}.`);
  if (!limits.uploadMediaTypes.includes(upload.mediaType))
    throw fieldInvalid(pointer, `${model.modelKey} does not take ${upload.mediaType} files.`);
  if (upload.byteSize > limits.maxUploadBytes)
    throw fieldInvalid(pointer, `${model.modelKey} takes files of at most ${limits.maxUploadBytes} bytes.`);
  const isFrame = upload.role !== 'reference_image';
  if (isFrame && before.some((other) => other.role === upload.role))
    throw fieldInvalid(pointer, `reference_upload_ids must have at most one ${upload.role}.`);
}

/**
 * Refuses a file with transparent areas if any provider of the model's route takes no mask, because the task may go to
 * any of them.
 */
function refuseMask(
  { providers }: QuotePorts,
  upload: Upload,
  model: Model,
  before: readonly Upload[],
  pointer: string,
): void {
  if (upload.ready?.isMasked !== true) return;
  if (upload.role !== 'reference_image')
    throw fieldInvalid(pointer, `The ${upload.role} must not have transparent areas; upload an opaque file.`);
  const connected = model.route.flatMap(({ provider, settings }) => providers.find(provider)?.promises(settings) ?? []);
  const maxMasked = Math.min(...connected.map(({ maxMaskedReferences = 0 }) => maxMaskedReferences));
  if (maxMasked === 0)
    throw fieldInvalid(pointer, `${model.modelKey} takes no file with transparent areas; upload an opaque file.`);
  if (before.filter(({ ready }) => ready?.isMasked === true).length >= maxMasked)
    throw fieldInvalid(
      pointer,
      `${model.modelKey} takes at most ${maxMasked} file${maxMasked === 1 ? '' : 's'} with transparent areas.`,
    );
}
