import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { anyPack, type Any } from '@bufbuild/protobuf/wkt';
import { Metadata, type StatusObject } from '@grpc/grpc-js';
import type { ServiceError } from '../../core/errors.js';
import { pathOf, tokensOf } from '../../core/field-path.js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from './generated/google/rpc/error_details_pb.js';
import { StatusSchema } from './generated/google/rpc/status_pb.js';
import { messageOf } from '../requests/message-of.js';
import { GRPC_MESSAGES } from './messages.js';
import { duration } from './render/times.js';
import { GRPC_STATUSES } from './statuses.js';

/** Whose codes ErrorInfo's reasons are. */
export const ERROR_DOMAIN = 'darkroom';

const MAX_MESSAGE = 1_024;
const MAX_FIELD = 256;

/** Where the details of a status travel, as serialised google.rpc.Status. */
export const DETAILS_KEY = 'grpc-status-details-bin';

/** In the headers of an answer, and with the status of a refusal. */
export const REQUEST_ID_KEY = 'x-request-id';

export interface FailedCall {
  readonly requestId: string;
  /** Of the message that the use case takes as its body, in the request: its pointers begin there. */
  readonly bodyField: string;
}

/** A refusal over gRPC: the canonical status, and our own code with all other details in the trailer. */
export function errorStatus(error: ServiceError, { requestId, bodyField }: FailedCall): StatusObject {
  const {
    code,
    details: { pointer, field: known, retryAfterMs },
  } = error;
  const status = GRPC_STATUSES[code];
  const message = cut(messageOf(error, GRPC_MESSAGES), MAX_MESSAGE);
  const details: Any[] = [
    packed(ErrorInfoSchema, { reason: code, domain: ERROR_DOMAIN }),
    packed(RequestInfoSchema, { requestId }),
  ];
  const field =
    pointer === undefined ? FIELDS[code] : (NAMES[pointer] ?? fieldPath(known ?? pathOf(tokensOf(pointer)), bodyField));
  if (field !== undefined)
    details.push(
      packed(BadRequestSchema, {
        fieldViolations: [{ field: cut(field, MAX_FIELD), description: message, reason: code }],
      }),
    );
  if (retryAfterMs !== undefined) details.push(packed(RetryInfoSchema, { retryDelay: duration(retryAfterMs) }));
  const metadata = new Metadata();
  metadata.set(REQUEST_ID_KEY, requestId);
  metadata.set(
    DETAILS_KEY,
    Buffer.from(toBinary(StatusSchema, create(StatusSchema, { code: status, message, details }))),
  );
  return { code: status, details: message, metadata };
}

/**
 * Both may hold names that a caller made up, and go out in a header: one that is too long ends the connection for every
 * call on it. Half a character would keep the status from being written at all.
 */
function cut(text: string, most: number): string {
  // A point has at most two units: any more are neither examined nor sent.
  const points = Array.from(text.slice(0, 2 * (most + 1)), (point) =>
    /\p{Surrogate}/u.test(point) ? '\ufffd' : point,
  );
  return points.length <= most ? points.join('') : `${points.slice(0, most).join('')}…`;
}

/** Fields that are not part of a body. */
const FIELDS: Readonly<Partial<Record<ServiceError['code'], string>>> = {
  IDEMPOTENCY_KEY_REQUIRED: 'idempotency_key',
  IDEMPOTENCY_KEY_INVALID: 'idempotency_key',
};

/** What is called, or found, otherwise than in the proto files. */
const NAMES: Readonly<Record<string, string | undefined>> = {
  '/name': 'display_name',
  '/expires_at': 'expire_time',
  // Beside the body over REST, and beside the input here.
  '/webhook_url': 'webhook_url',
};

/** `reference_upload_ids[3]` as `input.reference_upload_ids[3]`; undefined for the request as a whole. */
function fieldPath(path: string, bodyField: string): string | undefined {
  return [bodyField, path].filter((part) => part !== '').join('.') || undefined;
}

function packed<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Any {
  return anyPack(schema, create(schema, init));
}
