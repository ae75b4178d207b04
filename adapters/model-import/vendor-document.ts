import { isObject, type Json, type JsonObject, memberOf } from '../../core/json.js';
import { shownText } from './bounded-json.js';
import { ImportRefused, type RecordedModel } from './proposal.js';
import { SchemaReader } from './vendor-schema.js';

/** The parts of a vendor's answer that an entry is made from. */
export interface VendorDocument {
  readonly displayName?: string;
  readonly description?: string;
  /** The category of the model at fal, such as `text-to-image`; absent for other vendors. */
  readonly category?: string;
  /** The version that was read, for Replicate alone. */
  readonly version?: string;
  /** Whether Replicate runs the model without a version. */
  readonly isOfficial?: boolean;
  /** With references in place. */
  readonly input: JsonObject;
  readonly output: JsonObject;
  /** Whether the vendor says that the model is no longer kept. */
  readonly isEnded: boolean;
}

/** Finds the input and the output of a model in the answer of its vendor. Throws `ImportRefused`. */
export function readDocument({ vendor, id, document }: RecordedModel): VendorDocument {
  if (vendor === 'fal') return falDocument(id, document);
  return vendor === 'replicate' ? replicateDocument(id, document) : cogDocument(id, document);
}

/** `{ models: [{ endpoint_id, metadata, openapi }] }`, one of these, or the OpenAPI document alone. */
function falDocument(id: string, document: Json): VendorDocument {
  const models = memberOf(document, 'models');
  const model = Array.isArray(models)
    ? (models.find((one) => memberOf(one, 'endpoint_id') === id) ?? (models.length === 1 ? models[0] : undefined))
    : document;
  const named = memberOf(model, 'endpoint_id');
  if (model === undefined || (named !== undefined && named !== id))
    throw new ImportRefused(`The answer is not about ${id}: fal has no such endpoint, or it is about another one.`);
  // In a bare OpenAPI document, `openapi` is the version of the format.
  const openapi = isObject(memberOf(model, 'paths')) ? model : memberOf(model, 'openapi');
  if (!isObject(memberOf(openapi, 'paths'))) throw new ImportRefused(`fal has no schema for ${id} now.`);
  const reader = new SchemaReader(openapi as Json);
  const metadata = memberOf(model, 'metadata');
  return {
    ...textsOf(memberOf(metadata, 'display_name'), memberOf(metadata, 'description')),
    ...(typeof memberOf(metadata, 'category') === 'string'
      ? { category: memberOf(metadata, 'category') as string }
      : {}),
    input: objectSchema(reader.read(falInput(openapi as Json)), id),
    output: reader.read(falOutput(openapi as Json)),
    isEnded: memberOf(metadata, 'status') === 'deprecated',
  };
}

/** The body of the request that submits a task. */
function falInput(openapi: Json): Json | undefined {
  for (const path of Object.values(memberOf(openapi, 'paths') ?? {}) as Json[]) {
    const schema = jsonContent(memberOf(memberOf(path, 'post'), 'requestBody'));
    if (schema !== undefined) return schema;
  }
  return undefined;
}

/** The answer with the result of a request. */
function falOutput(openapi: Json): Json | undefined {
  for (const [address, path] of Object.entries((memberOf(openapi, 'paths') ?? {}) as JsonObject)) {
    if (!/\/requests\/\{[^/{}]+\}$/.test(address)) continue;
    const schema = jsonContent(memberOf(memberOf(memberOf(path, 'get'), 'responses'), '200'));
    if (schema !== undefined) return schema;
  }
  return undefined;
}

function jsonContent(holder: Json | undefined): Json | undefined {
  return memberOf(memberOf(memberOf(holder, 'content'), 'application/json'), 'schema');
}

const VERSION = /^[0-9a-f]{64}$/;

/** The answer about a model, or about one of its versions. */
function replicateDocument(id: string, document: Json): VendorDocument {
  const [name, asked] = id.split(':');
  const owned = [memberOf(document, 'owner'), memberOf(document, 'name')];
  if (owned.every((part) => typeof part === 'string') && owned.join('/') !== name)
    throw new ImportRefused(`The answer is about ${shownText(owned.join('/'), 100)}, not about ${name}.`);
  const latest = memberOf(document, 'latest_version');
  const held = latest === undefined ? document : latest;
  const openapi = memberOf(held, 'openapi_schema');
  if (!isObject(openapi)) throw new ImportRefused(`Replicate has no schema for ${id}.`);
  const version = memberOf(held, 'id');
  if (asked !== undefined && version !== undefined && version !== asked)
    throw new ImportRefused(`The answer is about another version of ${name} than ${shownText(asked, 64)}.`);
  const official = memberOf(document, 'is_official');
  const pinned = [version, asked].find((one) => typeof one === 'string' && VERSION.test(one));
  return {
    ...textsOf(undefined, memberOf(document, 'description')),
    ...(typeof pinned === 'string' ? { version: pinned } : {}),
    ...(typeof official === 'boolean' ? { isOfficial: official && asked === undefined } : {}),
    ...containerSchemas(openapi, id),
    isEnded: false,
  };
}

/** `/openapi.json` of a container. */
function cogDocument(id: string, document: Json): VendorDocument {
  return { ...containerSchemas(document, id), isEnded: false };
}

function containerSchemas(openapi: Json, id: string): Pick<VendorDocument, 'input' | 'output'> {
  const schemas = memberOf(memberOf(openapi, 'components'), 'schemas');
  const reader = new SchemaReader(openapi);
  return {
    input: objectSchema(reader.read(memberOf(schemas, 'Input')), id),
    output: reader.read(memberOf(schemas, 'Output')),
  };
}

function objectSchema(input: JsonObject, id: string): JsonObject {
  if (!isObject(input['properties'])) throw new ImportRefused(`The schema of ${id} has no fields of an input.`);
  return input;
}

const MAX_NAME = 100;
const MAX_DESCRIPTION = 300;

function textsOf(name: Json | undefined, about: Json | undefined): Pick<VendorDocument, 'displayName' | 'description'> {
  const [displayName, description] = [shownText(name, MAX_NAME), shownText(about, MAX_DESCRIPTION)];
  return { ...(displayName === '' ? {} : { displayName }), ...(description === '' ? {} : { description }) };
}
