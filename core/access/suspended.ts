import { ServiceError } from '../errors.js';

/**
 * The refusal for a client of a suspended account, wherever it is detected: its key gives no access until the account
 * is resumed.
 */
export function accountSuspended(): ServiceError {
  return new ServiceError('DEVELOPER_TOKEN_REVOKED', 'The account is suspended.');
}
