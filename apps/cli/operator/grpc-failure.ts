import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack, durationMs } from '@bufbuild/protobuf/wkt';
import { status as Status, type ServiceError as CallError } from '@grpc/grpc-js';
import { ERRORS, ServiceError, type ErrorCode } from '../../../core/errors.js';
import { DETAILS_KEY, ERROR_DOMAIN } from '../../grpc/error-status.js';
import { ErrorInfoSchema, RequestInfoSchema, RetryInfoSchema } from '../../grpc/generated/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../grpc/generated/google/rpc/status_pb.js';
import { EXIT, Failure, withMore } from '../exit.js';
import { printable } from '../terminal.js';
import type { GrpcPlace } from './grpc-place.js';

/** What a server says of a call that it has refused. */
interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
  readonly retryAfterMs?: number;
}

/** Absent when it was no Darkroom server that ended the call. */
export function readRefusal({ metadata, details: message }: CallError): Refusal | undefined {
  const [bytes] = metadata.get(DETAILS_KEY);
  if (!(bytes instanceof Buffer)) return undefined;
  try {
    const { details } = fromBinary(StatusSchema, bytes);
    const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((detail) => detail?.domain === ERROR_DOMAIN);
    if (info === undefined) return undefined;
    const { requestId = '' } = details.map((detail) => anyUnpack(detail, RequestInfoSchema)).find((detail) => detail !== undefined) ?? {};
    const delay = details.map((detail) => anyUnpack(detail, RetryInfoSchema)).find((detail) => detail !== undefined)?.retryDelay;
    return { code: info.reason, message, requestId, ...(delay === undefined ? {} : { retryAfterMs: durationMs(delay) }) };
  } catch {
    return undefined;
  }
}

/** Refusals of the use cases themselves, which are the same wherever the work is done. */
const OF_USE_CASES: ReadonlySet<Status> = new Set([Status.INVALID_ARGUMENT, Status.NOT_FOUND, Status.ALREADY_EXISTS, Status.FAILED_PRECONDITION]);
const OF_WHO_CALLS: ReadonlySet<Status> = new Set([Status.UNAUTHENTICATED, Status.PERMISSION_DENIED, Status.RESOURCE_EXHAUSTED]);

interface Called {
  readonly place: GrpcPlace;
  /** Whether the work may have been done, and must not be done again unseen. */
  readonly mayHaveHappened: boolean;
}

/** What a person is told of a failed call: the use case's own refusal, the server's, or why there was no answer at all. */
export function failureOf(error: CallError, { place, mayHaveHappened }: Called): Error {
  const refusal = readRefusal(error);
  if (refusal !== undefined && OF_USE_CASES.has(error.code) && isKnown(refusal.code)) return new ServiceError(refusal.code, refusal.message);
  if (refusal !== undefined && OF_WHO_CALLS.has(error.code)) return refused(refusal, EXIT.refused);
  const failure = refusal === undefined ? unanswered(error, place) : refused(refusal, EXIT.failure);
  return mayHaveHappened ? withMore(failure, 'Whether it was done is not known.') : failure;
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

function refused({ code, message, requestId }: Refusal, exitCode: Failure['exitCode']): Failure {
  const sentence = code === 'DEVELOPER_TOKEN_REQUIRED' ? 'The server asks who calls; set DARKROOM_SERVICE_TOKEN, or give --grpc-cert and --grpc-key.' : printable(message);
  return new Failure(`${sentence} (${code}, request ${requestId})`, exitCode, { code, message, request_id: requestId });
}

/** What the library says when there is no connection, in words a person can act on. */
const REASONS: readonly { readonly said: RegExp; readonly reason: string; readonly isHopeless?: boolean }[] = [
  { said: /ECONNREFUSED/, reason: 'nothing listens there' },
  { said: /^Name resolution failed/, reason: 'its name cannot be looked up', isHopeless: true },
  { said: /alert .*certificate|alert unknown ca|alert handshake failure/, reason: 'it wants a client certificate that it trusts', isHopeless: true },
  { said: /wrong version number|packet length too long/, reason: 'it does not speak TLS', isHopeless: true },
  { said: /certificate|altnames|self.signed/i, reason: 'its certificate is not trusted', isHopeless: true },
  { said: /Protocol error/, reason: 'it does not speak gRPC', isHopeless: true },
];

function unanswered({ code, details }: CallError, { address, tls }: GrpcPlace): Failure {
  if (code === Status.DEADLINE_EXCEEDED) return new Failure(`${address} cannot be reached: it did not answer in time.`);
  if (code === Status.UNAVAILABLE) {
    const reason = REASONS.find(({ said }) => said.test(details))?.reason ?? `the connection was cut${tls === undefined ? '; if it wants TLS, write https:// before it' : ''}`;
    return new Failure(`${address} cannot be reached: ${reason}.`);
  }
  return new Failure(`${address} answered with ${Status[code]} and not as a Darkroom service of this version does; check the address.`);
}

/** Whether sending it again, later, can help. */
export function mayHelpLater(error: CallError): boolean {
  if (error.code === Status.RESOURCE_EXHAUSTED) return readRefusal(error)?.retryAfterMs !== undefined;
  return error.code === Status.UNAVAILABLE && !REASONS.some(({ said, isHopeless }) => isHopeless === true && said.test(error.details));
}

/** Whether nothing can have come of it: there was no connection, or the call was one too many and not looked at. */
export function wasNeverSent({ code, details }: CallError): boolean {
  return code === Status.RESOURCE_EXHAUSTED || /^(?:No connection established|Name resolution failed)/.test(details);
}
