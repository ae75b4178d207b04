import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import {
  ApiError,
  type CreateRequest,
  type Darkroom,
  type Model,
  pictureType,
  type ReferenceMediaType,
  TransferError,
} from '../../../clients/typescript/src/index.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { type CliCommand, collect } from '../command.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { clientFailure } from './failures.js';

/**
 * Reads `name=value` pairs as the types the model's input_schema gives them. The server checks the values themselves.
 */
export function readParameters(pairs: readonly string[], inputSchema: JsonObject): JsonObject {
  const properties = (inputSchema['properties'] ?? {}) as JsonObject;
  const parameters = new Map<string, Json>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw usageFailure(`--param must be written as name=value, not ${pair}.`);
    const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema === undefined) {
      throw usageFailure(
        `There is no parameter ${name}; the model takes ${Object.keys(properties).join(', ') || 'none'}.`,
      );
    }
    if (parameters.has(name)) throw usageFailure(`--param ${name} is given twice.`);
    parameters.set(name, readValue(name, text, typesOf(schema)));
  }
  return Object.fromEntries(parameters);
}

function typesOf(schema: Json): readonly Json[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  return [schema['type'] ?? []].flat();
}

function readValue(name: string, text: string, types: readonly Json[]): Json {
  const [only] = types;
  if (types.length !== 1) return readAny(text, types);
  const type = typeof only === 'string' ? only : '';
  switch (type) {
    case 'string':
      return text;
    case 'integer':
    case 'number': {
      const isNumber = type === 'integer' ? /^-?[0-9]+$/ : /^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
      if (!isNumber.test(text)) {
        throw usageFailure(
          `The parameter ${name} must be ${type === 'integer' ? 'an integer' : 'a number'}, not ${text || 'empty'}.`,
        );
      }
      return Number(text);
    }
    case 'boolean': {
      if (text !== 'true' && text !== 'false')
        throw usageFailure(`The parameter ${name} must be true or false, not ${text || 'empty'}.`);
      return text === 'true';
    }
    default: {
      const value = parseJson(text);
      if (value === undefined) throw usageFailure(`The parameter ${name} must be written as JSON.`);
      return value;
    }
  }
}

/** JSON where that gives a value of an allowed type, else the text as it is. */
function readAny(text: string, types: readonly Json[]): Json {
  const value = parseJson(text);
  if (value === undefined) return text;
  const isAllowed =
    types.length === 0 ||
    types.some((type) => type === typeOf(value) || (type === 'integer' && Number.isInteger(value)));
  return isAllowed ? value : text;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export interface ReferenceFile {
  readonly path: string;
  readonly role: ReferenceRole;
  readonly filename: string;
  readonly mediaType: ReferenceMediaType;
  readonly sha256: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const TYPE_BY_EXTENSION: Readonly<Record<string, ReferenceMediaType>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
};

/**
 * Reads a file to be uploaded, and refuses immediately what the model would not accept. A relative path begins at
 * `folder`.
 */
async function readReferenceFile(
  path: string,
  role: ReferenceFile['role'],
  { model_key, limits }: Model,
  folder: string,
): Promise<ReferenceFile> {
  if (!limits.reference_roles.includes(role)) throw usageFailure(`${model_key} does not take a ${role}.`);
  const size = await sizeOf(path, folder);
  if (size === 0) throw usageFailure(`${path} is empty.`);
  if (size > limits.max_upload_bytes) {
    throw usageFailure(`${path} has ${size} bytes; ${model_key} takes at most ${limits.max_upload_bytes}.`);
  }
  const bytes = new Uint8Array(
    await readFile(resolve(folder, path)).catch(() => {
      throw usageFailure(`${path} cannot be read.`);
    }),
  );
  const mediaType = pictureType(bytes) ?? TYPE_BY_EXTENSION[extname(path).toLowerCase()];
  if (mediaType === undefined || !limits.upload_media_types.includes(mediaType)) {
    throw usageFailure(`${path} must be one of ${limits.upload_media_types.join(', ')}.`);
  }
  const filename = basename(path)
    .replaceAll(/[\p{Cc}\\]/gu, '_')
    .slice(0, 255);
  return { path, role, filename, mediaType, sha256: createHash('sha256').update(bytes).digest('hex'), bytes };
}

async function sizeOf(path: string, folder: string): Promise<number> {
  const about = await stat(resolve(folder, path)).catch(() => {
    throw usageFailure(`There is no file ${path}.`);
  });
  if (!about.isFile()) throw usageFailure(`${path} is not a file.`);
  return about.size;
}

/** The options that `generate` and `estimate` have in common. */
export interface GenerationOptions {
  readonly model?: string;
  readonly param?: readonly string[];
  readonly negative?: string;
  readonly reference?: readonly string[];
  readonly startFrame?: string;
  readonly endFrame?: string;
  readonly traceId?: string;
}

/** A request that is complete except for the ids of its uploads. */
export interface GenerationInput {
  readonly model: Model;
  /** The number of models that the first one was taken of; undefined if the model was named. */
  readonly ofHowMany: number | undefined;
  readonly parameters: JsonObject;
  readonly body: CreateRequest;
  readonly files: readonly ReferenceFile[];
}

export function withGenerationOptions(command: CliCommand): CliCommand {
  return command
    .explainsError(/too many arguments for .*\./, ' Put the prompt in quotes.')
    .option('-m, --model <model_key>', 'the model to use; darkroom models lists them (default: the first one)')
    .option('-p, --param <name=value>', "a value for one of the model's parameters (repeatable)", collect)
    .option('-n, --negative <text>', 'what the result should not show')
    .option('-r, --reference <file>', 'a reference image: PNG, JPEG or WebP (repeatable)', collect)
    .option('--start-frame <file>', 'the image a video begins with')
    .option('--end-frame <file>', 'the image a video ends with')
    .option('--trace-id <id>', 'your own id for the generation, given back with it');
}

/** The option that takes a file of each role. */
export const ROLE_FLAGS: Readonly<Record<ReferenceRole, string>> = {
  reference_image: '--reference',
  start_frame: '--start-frame',
  end_frame: '--end-frame',
};

/** The options of an example command for files of these roles, each with a space before it. No role gets one file twice. */
export function exampleFileOptions(roles: readonly ReferenceRole[]): string {
  const options = roles.map((role, index) => {
    const place = roles.slice(0, index + 1).filter((one) => one === role).length;
    return ` ${ROLE_FLAGS[role]} picture${place === 1 ? '' : `-${place}`}.png`;
  });
  return options.join('');
}

/**
 * Finds the model, types the parameters and reads the files, from `folder`; nothing is sent that would be refused for
 * these.
 */
export async function readGenerationInput(
  client: Darkroom,
  prompt: string | undefined,
  options: GenerationOptions,
  folder: string,
): Promise<GenerationInput> {
  const models = await client.models();
  const model = options.model === undefined ? firstModel(models) : findModel(models, options.model);
  const parameters: JsonObject = readParameters(options.param ?? [], model.input_schema as JsonObject);
  const files: ReferenceFile[] = [];
  for (const path of options.reference ?? [])
    files.push(await readReferenceFile(path, 'reference_image', model, folder));
  if (options.startFrame !== undefined)
    files.push(await readReferenceFile(options.startFrame, 'start_frame', model, folder));
  if (options.endFrame !== undefined) files.push(await readReferenceFile(options.endFrame, 'end_frame', model, folder));
  refuseRepeats(files);
  const most = model.limits.max_reference_uploads;
  if (files.length > most) throw usageFailure(`${model.model_key} takes at most ${most} files, not ${files.length}.`);
  const body: CreateRequest = {
    model_key: model.model_key,
    operation: model.operations[0] ?? 'image_generation',
    ...(prompt === undefined ? {} : { prompt }),
    ...(options.negative === undefined ? {} : { negative_prompt: options.negative }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(options.traceId === undefined ? {} : { client_trace_id: options.traceId }),
  };
  const ofHowMany = options.model === undefined ? models.length : undefined;
  return { model, ofHowMany, parameters, body, files };
}

/** Files of one name, role and content are one upload, which a generation takes once. */
function refuseRepeats(files: readonly ReferenceFile[]): void {
  files.forEach((file, index) => {
    const isSame = (other: ReferenceFile) =>
      other.role === file.role && other.sha256 === file.sha256 && other.filename === file.filename;
    if (files.findIndex(isSame) < index)
      throw usageFailure(`${file.path} is given twice; give each ${file.role} once.`);
  });
}

/**
 * Uploads one file and returns the id by which a generation refers to it. `intent` names the generation it is for:
 * the same intent again finds the same upload and sends only what is missing. A failure names the file.
 */
export async function uploadFile(
  client: Darkroom,
  { path, role, filename, mediaType, bytes }: ReferenceFile,
  intent: string,
  signal?: AbortSignal,
): Promise<string> {
  try {
    const reference = { file: bytes, role, filename, mediaType };
    return await client.upload(reference, { intent, signal, maxBytes: bytes.byteLength });
  } catch (error) {
    if (error instanceof TransferError) throw new Failure(`${path} was not uploaded: ${error.reason}.`);
    const failure = clientFailure(error);
    if (!(error instanceof ApiError) || !(failure instanceof Failure)) throw failure;
    throw new Failure(`${path}: ${failure.message}`, failure.exitCode, failure.details);
  }
}

/** The model of a command that names none. Throws one sentence if there is none. */
function firstModel([model]: readonly Model[]): Model {
  if (model === undefined) throw noModels();
  return model;
}

/** What a person should know about the choice of the model; undefined if they have made it. */
export function choiceText({ command }: CliIo, { model, ofHowMany }: GenerationInput): string | undefined {
  if (ofHowMany === undefined) return undefined;
  return ofHowMany === 1
    ? `The model is ${model.model_key}, the only one.`
    : `The model is ${model.model_key}, the first of ${ofHowMany}; --model names another, and ${command} models lists them.`;
}

function noModels(): Failure {
  return usageFailure('The server offers no models.');
}

/** Throws one sentence with the models that there are. */
export function findModel(models: readonly Model[], key: string): Model {
  const model = models.find(({ model_key }) => model_key === key);
  if (model !== undefined) return model;
  if (models.length === 0) throw noModels();
  throw usageFailure(
    `There is no model ${key}; the server has ${models.map(({ model_key }) => model_key).join(', ')}.`,
  );
}
