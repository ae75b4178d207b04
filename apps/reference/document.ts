/** An OpenAPI document as the reference shows it: operations with resolved parameters, bodies, responses and errors. */
import type { Json, JsonObject } from '../../core/json.js';

export interface ApiDocument {
  readonly operations: readonly Operation[];
}

export interface Operation {
  readonly operationId: string;
  readonly method: string;
  /** Below the address of the service. */
  readonly path: string;
  readonly resource: string;
  readonly summary: string;
  /** Markdown, without the scope. */
  readonly description: string;
  /** The scope that a key needs; absent where the request needs none. */
  readonly scope: string | undefined;
  /** Whether the request needs no key. */
  readonly isPublic: boolean;
  readonly parameters: readonly Parameter[];
  readonly bodies: readonly Body[];
  readonly responses: readonly Response[];
  readonly errors: readonly RefusedWith[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly example: Json | undefined;
  readonly schema: JsonObject;
}

export interface Body {
  readonly mediaType: string;
  readonly schema: JsonObject;
  readonly example: JsonObject | undefined;
}

/** A response without codes of its own. */
export interface Response {
  readonly status: string;
  readonly description: string;
  readonly headers: readonly Omit<Parameter, 'in' | 'required' | 'example'>[];
  readonly contents: readonly Omit<Body, 'example'>[];
}

export interface RefusedWith {
  readonly status: string;
  readonly code: string;
  readonly message: string;
}

/** The key that marks a schema whose limit differs between installations. */
export const CONFIGURABLE = 'x-configurable';

/**
 * The document as it is with the default settings, with a mark on each schema that differs in `other`, the document with
 * all settings changed.
 */
export function markConfigurable(shown: Json, other: Json): Json {
  if (Array.isArray(shown))
    return shown.map((item, index) => markConfigurable(item, (other as readonly Json[])[index] ?? null));
  if (typeof shown !== 'object' || shown === null) return shown;
  const entries = Object.entries(shown);
  const others = other as JsonObject;
  const differs = entries.some(([name, value]) => typeof value === 'number' && value !== others[name]);
  const marked = entries.map(([name, value]) => [name, markConfigurable(value, others[name] ?? null)] as const);
  return { ...Object.fromEntries(marked), ...(differs ? { [CONFIGURABLE]: true } : {}) };
}

/** Reads what the program's own documents contain; other OpenAPI documents may contain more. */
export function readDocument(text: JsonObject): ApiDocument {
  // Without functions and absent values.
  const document = JSON.parse(JSON.stringify(text)) as JsonObject;
  const resolve = resolverOf(document);
  const [server] = document['servers'] as unknown as readonly { readonly url: string }[];
  const start = server?.url.replace(/\/$/, '') ?? '';
  const operations = Object.entries(document['paths'] as Record<string, Record<string, JsonObject>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) =>
        operationOf(method.toUpperCase(), start + path, resolve(operation) as JsonObject),
      ),
  );
  return { operations };
}

const REFUSAL = /^[45]/;
const SCOPE = /(?:^|\s)Scope: (\S+)\.$/;

function operationOf(method: string, path: string, operation: JsonObject): Operation {
  const { operationId, summary, description = '', tags, parameters = [], requestBody, responses } = operation;
  const [, scope] = SCOPE.exec(description as string) ?? [];
  const all = Object.entries(responses as Record<string, JsonObject>);
  return {
    operationId: operationId as string,
    method,
    path,
    resource: (tags as readonly string[] | undefined)?.[0] ?? path.split('/')[2] ?? '',
    summary: (summary as string).replace(/\.$/, ''),
    description: (description as string).replace(SCOPE, '').replace(/^Any valid key\.$/, ''),
    scope,
    isPublic: Array.isArray(operation['security']),
    parameters: (parameters as readonly JsonObject[]).map(parameterOf),
    bodies: contentsOf(requestBody as JsonObject | undefined),
    responses: all.filter(([status]) => !REFUSAL.test(status)).map(responseOf),
    errors: all.filter(([status]) => REFUSAL.test(status)).flatMap(([status, response]) => errorsOf(status, response)),
  };
}

function parameterOf(parameter: JsonObject): Parameter {
  const { name, required = false, description = '', schema = {} } = parameter;
  return {
    name: name as string,
    in: parameter['in'] as Parameter['in'],
    required: required as boolean,
    description: description as string,
    example: parameter['example'],
    schema: schema as JsonObject,
  };
}

function contentsOf(from: JsonObject | undefined): readonly Body[] {
  const contents = (from?.['content'] ?? {}) as Record<string, JsonObject>;
  return Object.entries(contents).map(([mediaType, { schema = {}, example }]) => ({
    mediaType,
    schema: schema as JsonObject,
    example: example as JsonObject | undefined,
  }));
}

function responseOf([status, response]: [string, JsonObject]): Response {
  const headers = Object.entries((response['headers'] ?? {}) as Record<string, JsonObject>);
  return {
    status,
    description: response['description'] as string,
    headers: headers.map(([name, { description = '', schema = {} }]) => ({
      name,
      description: description as string,
      schema: schema as JsonObject,
    })),
    contents: contentsOf(response),
  };
}

/** The codes of a status. Their messages are the paragraphs of its description. */
function errorsOf(status: string, { description }: JsonObject): readonly RefusedWith[] {
  return (description as string).split('\n\n').flatMap((paragraph) => {
    const [, code, message] = /^([A-Z_]+): (.*)$/s.exec(paragraph) ?? [];
    return code === undefined || message === undefined ? [] : [{ status, code, message }];
  });
}

/** Puts what a reference leads to in its place, at any depth. The documents have no recursive schema. */
function resolverOf(document: JsonObject): (value: Json) => Json {
  const resolve = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...others } = value;
    const rest = Object.fromEntries(Object.entries(others).map(([name, inner]) => [name, resolve(inner)]));
    if (typeof $ref !== 'string') return rest;
    const name = $ref.split('/').at(-1) ?? '';
    return { title: name, ...(resolve(found($ref)) as JsonObject), ...rest };
  };
  const found = ($ref: string): Json => {
    let at: Json = document;
    for (const part of $ref.split('/').slice(1)) at = (at as JsonObject)[part] ?? null;
    if (at === null) throw new Error(`The document has no ${$ref}.`);
    return at;
  };
  return resolve;
}
