import type { ServerUnaryCall } from '@grpc/grpc-js';
import { isApiKeyShaped } from '../../../core/access/api-key.js';
import { ServiceError } from '../../../core/errors.js';
import type { Clock } from '../../../core/ports/clock.js';
import type { ServiceCaller, ServiceCallers, ServiceScope } from './service-callers.js';

const BEARER = /^bearer +(?<token>[\x21-\x7e]+)$/i;

type Presenting = Pick<ServerUnaryCall<unknown, unknown>, 'metadata' | 'getAuthContext'>;

/** The service that a call is from, and that may call now. Throws as `identify` and `requireCurrent` do. */
export function authenticate(callers: ServiceCallers, clock: Pick<Clock, 'now'>, call: Presenting): ServiceCaller {
  const caller = identify(callers, call);
  requireCurrent(caller, clock);
  return caller;
}

/** Throws DEVELOPER_TOKEN_EXPIRED and DEVELOPER_TOKEN_REVOKED. */
export function requireCurrent({ expiresAt, isRevoked }: ServiceCaller, clock: Pick<Clock, 'now'>): void {
  if (expiresAt !== undefined && expiresAt <= clock.now()) throw new ServiceError('DEVELOPER_TOKEN_EXPIRED');
  if (isRevoked) throw new ServiceError('DEVELOPER_TOKEN_REVOKED');
}

/**
 * The service that a call is from. Throws DEVELOPER_TOKEN_REQUIRED for one that brings nothing, and
 * DEVELOPER_TOKEN_INVALID.
 */
export function identify(callers: ServiceCallers, call: Presenting): ServiceCaller {
  const token = readToken(call.metadata.get('authorization'));
  const certificateNames =
    token === undefined ? certificateNamesOf(call.getAuthContext().sslPeerCertificate?.subjectaltname) : [];
  const caller = callers.find({ token, certificateNames });
  if (caller === undefined) {
    if (token !== undefined)
      throw new ServiceError(
        'DEVELOPER_TOKEN_INVALID',
        isApiKeyShaped(token) ? 'API keys are for REST; send the token of a service.' : undefined,
      );
    if (certificateNames.length > 0)
      throw new ServiceError(
        'DEVELOPER_TOKEN_INVALID',
        'The client certificate names none of the services that may call, or more than one.',
      );
    throw new ServiceError(
      'DEVELOPER_TOKEN_REQUIRED',
      'Send a service token as authorization: Bearer <token>, or a client certificate with a URI or DNS name.',
    );
  }
  return caller;
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT when the service lacks the scope. */
export function requireServiceScope(service: ServiceCaller, scope: ServiceScope): void {
  if (!service.scopes.includes(scope)) {
    throw new ServiceError(
      'DEVELOPER_SCOPE_INSUFFICIENT',
      `The service ${service.name} does not have the scope ${scope}.`,
    );
  }
}

/**
 * Sent twice, it is ambiguous; and an invalid token must not fall back to a certificate, which may be that of a proxy
 * in between.
 */
function readToken(values: readonly (string | Buffer)[]): string | undefined {
  const [value, ...others] = values;
  if (value === undefined) return undefined;
  if (others.length > 0) throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'authorization must be sent once.');
  const token = BEARER.exec(String(value))?.groups?.['token'];
  if (token === undefined) throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'authorization must be Bearer <token>.');
  return token;
}

/**
 * The URIs and DNS names of `URI:spiffe://example/studio, DNS:studio`, as Node shows a certificate: only what the
 * authority put there as such, and no common name. What Node puts in quotes has characters that no such name has. A URI
 * has a colon and a DNS name has none, so that neither can pass for the other.
 */
export function certificateNamesOf(subjectAltName: string | undefined): string[] {
  return (subjectAltName ?? '').split(', ').flatMap((entry) => {
    const { uri, dns } = /^(?:URI:(?<uri>[^":]+:[^"]+)|DNS:(?<dns>[^":]+))$/.exec(entry)?.groups ?? {};
    return uri ?? dns?.toLowerCase() ?? [];
  });
}
