import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import { Metadata, status as Status, type StatusObject } from '@grpc/grpc-js';
import type { ErrorCode, ServiceError } from '../../core/errors.js';
import { pathOf, tokensOf } from '../../core/json.js';
import { type FrontMessages, messageOf } from '../service-errors.js';
import { duration } from './enums.js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from './generated/google/rpc/error_details_pb.js';
import { StatusSchema } from './generated/google/rpc/status_pb.js';

/** Sentences that name the fields of messages. */
export const GRPC_MESSAGES: FrontMessages = {
  IDEMPOTENCY_KEY_REQUIRED: 'idempotency_key is required.',
  IDEMPOTENCY_KEY_INVALID: 'idempotency_key must be 1 to 255 visible ASCII characters.',
  IDEMPOTENCY_PAYLOAD_MISMATCH: 'This idempotency_key was first used with a different request.',
  IDEMPOTENCY_IN_PROGRESS: 'The first request with this idempotency_key is still being handled.',
  IDEMPOTENCY_REPLAY_EXPIRED: 'The answer to this idempotency_key is no longer kept; a new intent needs a new key.',
};

/** The canonical status of every error code. A code that is missing here does not compile. */
export const GRPC_STATUSES: Readonly<Record<ErrorCode, Status>> = {
  ROUTE_NOT_FOUND: Status.UNIMPLEMENTED,
  METHOD_NOT_ALLOWED: Status.UNIMPLEMENTED,
  DEVELOPER_TOKEN_REQUIRED: Status.UNAUTHENTICATED,
  DEVELOPER_TOKEN_INVALID: Status.UNAUTHENTICATED,
  DEVELOPER_TOKEN_EXPIRED: Status.UNAUTHENTICATED,
  DEVELOPER_TOKEN_REVOKED: Status.UNAUTHENTICATED,
  RATE_LIMITED: Status.RESOURCE_EXHAUSTED,
  DEVELOPER_SCOPE_INSUFFICIENT: Status.PERMISSION_DENIED,
  // Occurs only on pages in a browser.
  ORIGIN_REFUSED: Status.PERMISSION_DENIED,
  SESSION_REQUIRED: Status.UNAUTHENTICATED,
  OPERATOR_REQUIRED: Status.PERMISSION_DENIED,
  PASSKEY_SIGN_IN_REQUIRED: Status.PERMISSION_DENIED,
  RECENT_SIGN_IN_REQUIRED: Status.PERMISSION_DENIED,
  IDEMPOTENCY_KEY_REQUIRED: Status.INVALID_ARGUMENT,
  IDEMPOTENCY_KEY_INVALID: Status.INVALID_ARGUMENT,
  // The status that gRPC itself returns for an unsupported compression.
  MEDIA_TYPE_UNSUPPORTED: Status.UNIMPLEMENTED,
  BODY_TOO_LARGE: Status.RESOURCE_EXHAUSTED,
  BODY_INVALID: Status.INVALID_ARGUMENT,
  REQUEST_TIMEOUT: Status.DEADLINE_EXCEEDED,
  FIELD_REQUIRED: Status.INVALID_ARGUMENT,
  FIELD_INVALID: Status.INVALID_ARGUMENT,
  // Occurs only on pages in a browser.
  PASSKEY_REFUSED: Status.INVALID_ARGUMENT,
  UPLOAD_FILE_TOO_LARGE: Status.INVALID_ARGUMENT,
  UPLOAD_TYPE_NOT_ALLOWED: Status.INVALID_ARGUMENT,
  IDEMPOTENCY_PAYLOAD_MISMATCH: Status.ALREADY_EXISTS,
  IDEMPOTENCY_IN_PROGRESS: Status.ABORTED,
  IDEMPOTENCY_REPLAY_EXPIRED: Status.FAILED_PRECONDITION,
  UPLOAD_URL_EXPIRED: Status.FAILED_PRECONDITION,
  TASK_NOT_FOUND: Status.NOT_FOUND,
  GENERATION_JOB_NOT_FOUND: Status.NOT_FOUND,
  QUEUE_FULL: Status.RESOURCE_EXHAUSTED,
  CREDITS_INSUFFICIENT: Status.FAILED_PRECONDITION,
  // Occurs only in the MCP server.
  SPENDING_NOT_CONFIRMED: Status.FAILED_PRECONDITION,
  NOT_FOUND: Status.NOT_FOUND,
  CONFLICT: Status.ALREADY_EXISTS,
  SERVICE_UNAVAILABLE: Status.UNAVAILABLE,
  INTERNAL_ERROR: Status.INTERNAL,
};

/** The domain of the codes in ErrorInfo's `reason`. */
export const ERROR_DOMAIN = 'darkroom';

const MAX_MESSAGE = 1_024;
const MAX_FIELD = 256;

/** The trailer that carries the details of a status, as a serialised google.rpc.Status. */
export const DETAILS_KEY = 'grpc-status-details-bin';

/** In the headers of a response, and with the status of a refusal. */
export const REQUEST_ID_KEY = 'x-request-id';

export interface FailedCall {
  readonly requestId: string;
  /** The field of the request that contains the body of the use case, where its pointers start. */
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

/** Fields that have a different name or place in the proto files. */
const NAMES: Readonly<Record<string, string | undefined>> = {
  '/name': 'display_name',
  '/expires_at': 'expire_time',
  // Next to the body over REST, and next to the input here.
  '/webhook_url': 'webhook_url',
};

/** `reference_upload_ids[3]` as `input.reference_upload_ids[3]`; undefined for the request as a whole. */
function fieldPath(path: string, bodyField: string): string | undefined {
  return [bodyField, path].filter((part) => part !== '').join('.') || undefined;
}

function packed<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Any {
  return anyPack(schema, create(schema, init));
}
