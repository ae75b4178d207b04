import type { ErrorCode } from '../../../../core/errors.js';
import type { Route } from '../operation.js';

const OUR_FAULTS: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR'];
const CREDENTIAL: readonly ErrorCode[] = [
  'DEVELOPER_TOKEN_REQUIRED',
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_EXPIRED',
  'DEVELOPER_TOKEN_REVOKED',
  'RATE_LIMITED',
  'DEVELOPER_SCOPE_INSUFFICIENT',
];
const KEY: readonly ErrorCode[] = ['IDEMPOTENCY_KEY_REQUIRED', 'IDEMPOTENCY_KEY_INVALID'];
const BODY: readonly ErrorCode[] = ['BODY_TOO_LARGE', 'REQUEST_TIMEOUT', 'MEDIA_TYPE_UNSUPPORTED', 'BODY_INVALID'];
/** A body that is sent to an operation without one is read all the same, and must have nothing in it. */
const NO_BODY: readonly ErrorCode[] = [...BODY, 'FIELD_INVALID'];

/** Every code a route can answer with: those of its checks, then those of its use case. */
export function errorCodesOf(route: Route): readonly ErrorCode[] {
  if (route.scope === undefined) return [...NO_BODY, ...route.operation.errors, ...OUR_FAULTS];
  return [
    ...CREDENTIAL,
    ...(route.needsKey === true ? KEY : []),
    ...(route.operation.body ? BODY : NO_BODY),
    ...route.operation.errors,
    ...OUR_FAULTS,
  ];
}
