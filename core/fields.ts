import { ServiceError } from './errors.js';
import type { Json, JsonObject } from './json.js';
import type { Fault } from './ports/json-schemas.js';
import type { Ports } from './ports/tokens.js';

/** Refuses with the first fault: a missing field before an invalid one, then as the document has them. */
export function refuseFaults(faults: readonly Fault[], under = ''): void {
  const [first] = faults;
  if (!first) return;
  const pointer = under + first.pointer;
  throw new ServiceError(first.kind === 'required' ? 'FIELD_REQUIRED' : 'FIELD_INVALID', first.message, { pointer });
}

export function fieldInvalid(pointer: string, message: string): ServiceError {
  return new ServiceError('FIELD_INVALID', message, { pointer });
}

/** Checks a request body against its schema and for text that no field may hold; answers it, typed by the caller. */
export function readBody<T>(ports: Pick<Ports, 'jsonSchemas'>, schema: JsonObject, body: Json): T {
  refuseFaults(ports.jsonSchemas.check(schema, body).faults);
  refuseBadText(body, '');
  return body as T;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** NUL and lone surrogates are not text: they cannot be stored, compared or shown faithfully everywhere. */
function refuseBadText(value: Json, pointer: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || LONE_SURROGATE.test(value)) {
      throw fieldInvalid(pointer, `${pointer || 'The value'} must be text without NUL characters and lone surrogates.`);
    }
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => refuseBadText(item, `${pointer}/${index}`));
  } else if (value !== null && typeof value === 'object') {
    for (const [name, item] of Object.entries(value)) refuseBadText(item, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
}
