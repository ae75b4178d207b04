import type { ServerUnaryCall } from '@grpc/grpc-js';
import { ServiceError } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';
import type { ServiceCaller, ServiceCallers, ServiceScope } from './service-callers.js';

const BEARER = /^bearer +(?<token>[\x21-\x7e]+)$/i;

/**
 * The service that a call is from. Throws DEVELOPER_TOKEN_REQUIRED for one that brings nothing, and DEVELOPER_TOKEN_INVALID,
 * _EXPIRED and _REVOKED.
 */
export function authenticate(callers: ServiceCallers, clock: Pick<Clock, 'now'>, call: Pick<ServerUnaryCall<unknown, unknown>, 'metadata' | 'getAuthContext'>): ServiceCaller {
  const token = readToken(call.metadata.get('authorization'));
  const certificateNames = namesOf(call.getAuthContext().sslPeerCertificate?.subjectaltname);
  const caller = callers.find({ ...(token === undefined ? {} : { token }), certificateNames });
  if (caller === undefined) {
    if (token !== undefined || certificateNames.length > 0) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
    throw new ServiceError('DEVELOPER_TOKEN_REQUIRED', 'Send a service token as authorization: Bearer <token>, or a client certificate.');
  }
  if (caller.isRevoked) throw new ServiceError('DEVELOPER_TOKEN_REVOKED');
  if (caller.expiresAt !== undefined && caller.expiresAt <= clock.now()) throw new ServiceError('DEVELOPER_TOKEN_EXPIRED');
  return caller;
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT when the service lacks the scope. */
export function requireServiceScope(service: ServiceCaller, scope: ServiceScope): void {
  if (!service.scopes.includes(scope)) {
    throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', `The service ${service.name} does not have the scope ${scope}.`);
  }
}

/** Sent twice, nobody can say which one was meant. */
function readToken(values: readonly (string | Buffer)[]): string | undefined {
  const [value, ...others] = values;
  if (others.length > 0) throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'authorization must be sent once.');
  return typeof value === 'string' ? BEARER.exec(value)?.groups?.['token'] : undefined;
}

/** `URI:spiffe://example/studio, DNS:studio` as Node shows it; only names that the authority put there as such. */
function namesOf(subjectAltName: string | undefined): string[] {
  return (subjectAltName ?? '').split(', ').flatMap((entry) => /^(?:URI|DNS):([^"]+)$/.exec(entry)?.[1] ?? []);
}
