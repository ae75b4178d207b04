import {
  MongoAPIError,
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoExpiredSessionError,
  MongoNotConnectedError,
  MongoParseError,
  MongoServerClosedError,
  MongoServerError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { StoreUnavailable } from '../../core/errors.js';

export const DUPLICATE_KEY = 11000;

/** Errors of the driver's programming interface that are about the connection all the same. */
const CONNECTION_ERRORS = [
  MongoNotConnectedError,
  MongoTopologyClosedError,
  MongoServerClosedError,
  MongoClientClosedError,
  MongoExpiredSessionError,
];

/**
 * A server's error codes for a command that is always wrong. Every other code (not primary, shutting down, too late, no
 * majority, no space, no rights) describes the server's state, so a code that is not in this list, including a new one,
 * means that the store cannot answer.
 */
const WRONG_COMMANDS: ReadonlySet<unknown> = new Set([
  2 /* BadValue */,
  9 /* FailedToParse */,
  14 /* TypeMismatch */,
  20 /* IllegalOperation */,
  22 /* InvalidBSON */,
  26 /* NamespaceNotFound */,
  27 /* IndexNotFound */,
  28 /* PathNotViable */,
  40 /* ConflictingUpdateOperators */,
  48 /* NamespaceExists */,
  52 /* DollarPrefixedFieldName */,
  54 /* NotSingleValueField */,
  56 /* EmptyFieldName */,
  57 /* DottedFieldName */,
  59 /* CommandNotFound */,
  66 /* ImmutableField */,
  67 /* CannotCreateIndex */,
  68 /* IndexAlreadyExists */,
  72 /* InvalidOptions */,
  73 /* InvalidNamespace */,
  85 /* IndexOptionsConflict */,
  86 /* IndexKeySpecsConflict */,
  115 /* CommandNotSupported */,
  121 /* DocumentValidationFailure */,
  168 /* InvalidPipelineOperator */,
  10334 /* BSONObjectTooLarge */,
  DUPLICATE_KEY,
  17280 /* KeyTooLong */,
  17419,
  17420 /* the document would grow too large */,
]);

export function isDuplicateKey(error: unknown): boolean {
  return serverCode(error) === DUPLICATE_KEY;
}

export function serverCode(error: unknown): unknown {
  return error instanceof MongoServerError ? error.code : undefined;
}

/** The error codes of a broken socket. The driver passes some of them on unwrapped. */
const SOCKET_CODE = /^(E[A-Z0-9]+|ERR_(STREAM|SOCKET|SSL|TLS)_\w+)$/;

/**
 * Maps a driver's error to the ports' errors: an outage is `StoreUnavailable`, a programming error is passed on
 * unchanged.
 */
export function storeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isOutage =
    error instanceof MongoError ? !isProgramFault(error) : 'code' in error && SOCKET_CODE.test(String(error.code));
  return isOutage ? new StoreUnavailable(`MongoDB could not answer (${kindOf(error)}).`, error) : error;
}

/**
 * For the operator: the driver has one error class for everything that a server reports about itself, missing rights
 * included.
 */
function kindOf(error: Error): string {
  return error instanceof MongoServerError && typeof error.codeName === 'string' ? error.codeName : error.name;
}

function isProgramFault(error: MongoError): boolean {
  if (error instanceof MongoWriteConcernError) return false;
  if (error instanceof MongoBulkWriteError) return isProgramFaultOfSeveral(error);
  if (error instanceof MongoServerError) return WRONG_COMMANDS.has(error.code);
  if (error instanceof MongoParseError) return true;
  return error instanceof MongoAPIError && !CONNECTION_ERRORS.some((kind) => error instanceof kind);
}

/** Where writes were refused, the code of the error itself is that of the first, and the others may say more. */
function isProgramFaultOfSeveral({ code, result }: MongoBulkWriteError): boolean {
  if (result.getWriteConcernError() !== undefined) return false;
  const refusals = result.getWriteErrors();
  return refusals.length === 0 ? WRONG_COMMANDS.has(code) : refusals.every((one) => WRONG_COMMANDS.has(one.code));
}
