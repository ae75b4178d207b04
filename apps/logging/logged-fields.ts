import type { Bound, ServiceError } from '../../core/errors.js';
import { isUuid } from '../../core/ids.js';

/** Text from elsewhere cannot move the cursor, change colours or the direction of writing, or break a table. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

/** A pointer may end in a name that the client chose. */
const MAX_FIELD_CHARACTERS = 256;

/** The fields of a refusal in the request's line of the log. */
export interface LoggedRefusal {
  readonly code: ServiceError['code'];
  /** JSON Pointer of the field at fault, where there is one. */
  readonly field?: string;
  /** The limit that was reached, for QUEUE_FULL. */
  readonly bound?: Bound;
}

export function loggedRefusal({ code, details: { pointer, bound } }: ServiceError): LoggedRefusal {
  const field = pointer === undefined ? {} : { field: printable(pointer.slice(0, MAX_FIELD_CHARACTERS)) };
  return { code, ...field, ...(bound === undefined ? {} : { bound }) };
}

/** The ids that a request named; they may be any text. */
export interface NamedIds {
  readonly generationId?: unknown;
  readonly uploadId?: unknown;
}

/** The ids for the log line of a request. A value that is not an id is left out. */
export function loggedIds({ generationId, uploadId }: NamedIds): {
  readonly generationId?: string;
  readonly uploadId?: string;
} {
  return {
    ...(isId(generationId) ? { generationId: generationId.toLowerCase() } : {}),
    ...(isId(uploadId) ? { uploadId: uploadId.toLowerCase() } : {}),
  };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && isUuid(value);
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's own id of a request, if it can be returned and logged safely. */
export function safeRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : undefined;
}
