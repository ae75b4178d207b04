import { orThrow, ServiceError } from './errors.js';
import { type FieldToken, type Json, type JsonObject, pathOf, pointerOf } from './json.js';

/** One fault of a value. `pointer` is a JSON Pointer to it; '' is the whole document. */
export interface Fault {
  readonly kind: 'required' | 'invalid';
  readonly pointer: string;
  /** The same as a path: `parameters.size`, `reference_upload_ids[3]`; '' for the whole. Names are not escaped. */
  readonly field: string;
  /** One sentence that states the fault and the requirement. */
  readonly message: string;
}

/**
 * If there are several faults, the first is reported: a missing field before an invalid one, then in document order.
 */
export function faultRefusal({ kind, message, pointer, field }: Fault): ServiceError {
  return new ServiceError(kind === 'required' ? 'FIELD_REQUIRED' : 'FIELD_INVALID', message, { pointer, field });
}

/** `field` is for pointers through names that the client or the catalog chose: see `ErrorDetails`. */
export function fieldInvalid(pointer: string, message: string, field?: string): ServiceError {
  return new ServiceError('FIELD_INVALID', message, { pointer, ...(field === undefined ? {} : { field }) });
}

/**
 * Sentences that state what a field must be, by its pointer, for fields whose message would otherwise show a regular
 * expression.
 */
export type Wording = Readonly<Record<string, string>>;

/**
 * The pattern of a text that is not only white space, by Unicode's White_Space property. The characters are listed
 * because not all engines that read OpenAPI documents support property escapes.
 */
export const NOT_BLANK = '[^\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';

export type BodySchema = JsonObject & { readonly properties: JsonObject };

interface SchemaChecks {
  readonly jsonSchemas: { check(schema: JsonObject, value: Json): { readonly faults: readonly Fault[] } };
}

/** The same as `checkBody`, and throws the refusal. */
export function readBody<T>(...args: Parameters<typeof checkBody>): T & JsonObject {
  return orThrow(checkBody<T>(...args));
}

/**
 * Checks a request body against its schema and for values that no field may have. Returns it without the fields that
 * are null; the caller gives the type.
 */
export function checkBody<T>(
  { jsonSchemas }: SchemaChecks,
  schema: BodySchema,
  sent: Json,
  wording: Wording | (() => Wording) = {},
): (T & JsonObject) | ServiceError {
  const body = withoutNullFields(schema, sent);
  const [first] = jsonSchemas.check(schema, body).faults;
  if (first !== undefined) {
    const worded = typeof wording === 'function' ? wording() : wording;
    const message = first.kind === 'invalid' ? worded[first.pointer] : undefined;
    return faultRefusal({ ...first, message: message ?? first.message });
  }
  const bad = firstBadValue(body);
  return bad === undefined ? (body as T & JsonObject) : badValueRefusal(bad);
}

/**
 * A field of the schema that is null counts as absent, and as missing if it is required. Values inside a field stay as
 * they are.
 */
function withoutNullFields({ properties }: BodySchema, body: Json): Json {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return body;
  const absent = Object.keys(body).filter((name) => body[name] === null && Object.hasOwn(properties, name));
  if (absent.length === 0) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !absent.includes(name)));
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** A value that no field may have, with its position and the requirement. */
interface BadValue {
  readonly tokens: readonly FieldToken[];
  readonly must: string;
}

function badValueRefusal({ tokens, must }: BadValue): ServiceError {
  const field = pathOf(tokens);
  return fieldInvalid(pointerOf(tokens), `${field || 'The value'} must ${must}.`, field);
}

/**
 * Finds NUL, lone surrogates and infinite numbers, which not every store keeps, compares and returns unchanged. Names
 * of members are checked too: where a schema allows any member, clients choose the names. The path is built only on the
 * way back, so a body without such a value costs no more than the walk.
 */
function firstBadValue(value: Json): BadValue | undefined {
  if (typeof value === 'string')
    return isText(value) ? undefined : { tokens: [], must: 'be text without NUL characters and lone surrogates' };
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { tokens: [], must: 'be a finite number' };
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const bad = firstBadValue(value[index] as Json);
      if (bad !== undefined) return { ...bad, tokens: [index, ...bad.tokens] };
    }
    return undefined;
  }
  for (const name of Object.keys(value)) {
    if (!isText(name)) return { tokens: [], must: 'have names without NUL characters and lone surrogates' };
    const bad = firstBadValue(value[name] as Json);
    if (bad !== undefined) return { ...bad, tokens: [name, ...bad.tokens] };
  }
  return undefined;
}

/**
 * Whether every store keeps the text unchanged: without NUL, which ends a text in some, and without lone surrogates.
 */
export function isText(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text);
}
