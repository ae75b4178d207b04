import { ServiceError } from './errors.js';
import { escapePointerToken, type Json, type JsonObject } from './json.js';
import type { Fault } from './ports/json-schemas.js';
import type { Ports } from './ports/tokens.js';

/** Refuses with the first fault: a missing field before an invalid one, then as the document has them. */
export function refuseFaults(faults: readonly Fault[]): void {
  const [first] = faults;
  if (!first) return;
  throw new ServiceError(first.kind === 'required' ? 'FIELD_REQUIRED' : 'FIELD_INVALID', first.message, { pointer: first.pointer });
}

export function fieldInvalid(pointer: string, message: string): ServiceError {
  return new ServiceError('FIELD_INVALID', message, { pointer });
}

/** What a field must be, in a sentence, by its pointer: for fields whose schema would be told as a regular expression. */
export type Wording = Readonly<Record<string, string>>;

export type BodySchema = JsonObject & { readonly properties: JsonObject };

/**
 * Checks a request body against its schema and for values that no field may hold; answers it without the fields that are
 * null, typed by the caller.
 */
export function readBody<T>(ports: Pick<Ports, 'jsonSchemas'>, schema: BodySchema, sent: Json, wording: Wording = {}): T & JsonObject {
  const body = withoutNullFields(schema, sent);
  const { faults } = ports.jsonSchemas.check(schema, body);
  refuseFaults(faults.map((fault) => ({ ...fault, message: (fault.kind === 'invalid' ? wording[fault.pointer] : undefined) ?? fault.message })));
  refuseBadValues(body, '');
  return body as T & JsonObject;
}

/** A field of the schema that is null counts as absent, and so as missing if it is required. Whatever is inside a field stays. */
function withoutNullFields({ properties }: BodySchema, body: Json): Json {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return body;
  const isAbsent = (name: string) => body[name] === null && Object.hasOwn(properties, name);
  if (!Object.keys(body).some(isAbsent)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isAbsent(name)));
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * NUL and lone surrogates are not text, and a number beyond all bounds is none: they cannot be stored, compared or shown
 * faithfully everywhere. Names count too, since where anything goes a name is as free as a value.
 */
function refuseBadValues(value: Json, pointer: string): void {
  const shown = pathOf(pointer) || 'The value';
  if (typeof value === 'string') {
    if (!isText(value)) throw fieldInvalid(pointer, `${shown} must be text without NUL characters and lone surrogates.`);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw fieldInvalid(pointer, `${shown} must be a finite number.`);
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => refuseBadValues(item, `${pointer}/${index}`));
  } else if (value !== null && typeof value === 'object') {
    for (const [name, item] of Object.entries(value)) {
      if (!isText(name)) throw fieldInvalid(pointer, `${shown} must have names without NUL characters and lone surrogates.`);
      refuseBadValues(item, `${pointer}/${escapePointerToken(name)}`);
    }
  }
}

/** How a person would write it: `parameters.size`, `reference_upload_ids[3]`. */
export function pathOf(pointer: string): string {
  return pointer.slice(1).split('/').map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, token) => (/^\d+$/.test(token) ? `${path}[${token}]` : path === '' ? token : `${path}.${token}`), '');
}

/** Whether every store keeps it as it is: neither NUL, at which some end a text, nor half a character. */
export function isText(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text);
}
