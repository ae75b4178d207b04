import { ServiceError } from '../errors.js';

/**
 * What a client of a suspended account is told, by whoever notices: its key opens nothing until the account is resumed.
 */
export function accountSuspended(): ServiceError {
  return new ServiceError('DEVELOPER_TOKEN_REVOKED', 'The account is suspended.');
}
