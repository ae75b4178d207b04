import pg from 'pg';
import { StoreUnavailable } from '../../core/errors.js';

/** Thrown when a database cannot be used as it is; the message is one sentence fit for the operator. */
export class PostgresRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PostgresRefused';
  }
}

/**
 * SQLSTATE codes that describe the server's state and not the statement: connections, resources, shutdown and cancelling,
 * the system's own errors, a server that takes no writes, and what the server has rolled back because of another transaction.
 */
const OUTAGE = /^(08|53|57|58|XX|40|25006|55P03|28)/;
/** Classes of data and of constraints: one record of several is at fault. */
const WRONG_DATA = /^(22|23)/;
/** The connection is lost, or the server ends it or takes no writes. */
const CONNECTION_OVER = /^(08|57P|58|XX|25006)/;
/** Another transaction was in the way, and this one was rolled back. */
const ROLLED_BACK = /^40(001|P01)/;
/** Waiting for a lock, or too many statements: says nothing about which server takes writes. */
const BUSY = /^(55P03|57014|40|53)/;

const AUTHENTICATION_FAILED = /^28/;
export const DATABASE_MISSING = '3D000';
export const NOT_ALLOWED = '42501';
export const TABLE_MISSING = '42P01';
export const SCHEMA_MISSING = '3F000';

export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** Whether the server is at fault, or the way to it. Errors that are not the server's own come from its connection. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof PostgresRefused) return false;
  if (error instanceof pg.DatabaseError) return OUTAGE.test(error.code ?? '');
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError);
}

/** Whether it may be another server that takes writes now. */
export function isAboutServer(error: unknown): boolean {
  return isOutage(error) && !BUSY.test(sqlStateOf(error) ?? '');
}

/** Whether another try cannot help before somebody changes the login or the certificate, or creates the database. */
export function isHopeless(error: unknown): boolean {
  return (
    isAuthenticationFailure(error) || isUntrusted(error) || hasNoTls(error) || sqlStateOf(error) === DATABASE_MISSING
  );
}

/** Whether TLS did not accept the certificate of the server. */
export function isUntrusted(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof pg.DatabaseError || !('code' in error)) return false;
  return typeof error.code === 'string' && /CERT|SIGNATURE|HOSTNAME|^INVALID_/.test(error.code);
}

export function hasNoTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections';
}

/** Whether a connection can be used after this error: the server has answered, and has not ended its side. */
export function leavesConnection(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !CONNECTION_OVER.test(error.code ?? '');
}

/** Whether the content of a record is at fault: the server refuses it, or it cannot be sent. */
/** Whether the content of a record is at fault: the server refuses it, or it cannot be sent. */
export function isWrongData(error: unknown): boolean {
  return error instanceof RangeError || WRONG_DATA.test(sqlStateOf(error) ?? '');
}

export function isRolledBack(error: unknown): boolean {
  return ROLLED_BACK.test(sqlStateOf(error) ?? '');
}

export function isAuthenticationFailure(error: unknown): boolean {
  // The client itself ends a login for which it has no password.
  if (error instanceof Error && error.message.startsWith('SASL: ')) return true;
  return AUTHENTICATION_FAILED.test(sqlStateOf(error) ?? '');
}

/** Maps an error to the ports' errors: an outage is `StoreUnavailable`, a programming error is passed on unchanged. */
export function storeError(error: unknown): unknown {
  if (error instanceof StoreUnavailable || !isOutage(error)) return error;
  return new StoreUnavailable(`PostgreSQL could not answer (${kindOf(error as Error)}).`, error);
}

function kindOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return `${code}${error.message}`;
}
