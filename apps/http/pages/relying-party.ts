import { isIP } from 'node:net';
import { ServiceError } from '../../../core/errors.js';
import type { RelyingParty } from '../../../core/ports/passkey-verifier.js';

/**
 * For whom browsers keep passkeys at the public address. Undefined where they keep none: at an address without a domain
 * name, and without TLS anywhere but on this computer.
 */
export function relyingParty(publicUrl: string): RelyingParty | undefined {
  const { protocol, hostname, origin } = new URL(publicUrl);
  const isHere = hostname === 'localhost' || hostname.endsWith('.localhost');
  const isNumber = hostname.startsWith('[') || isIP(hostname) !== 0;
  return !isNumber && (protocol === 'https:' || isHere) ? { id: hostname, origin } : undefined;
}

/** As `relyingParty`, and throws NOT_FOUND where there is none. */
export function requireRelyingParty(publicUrl: string): RelyingParty {
  const party = relyingParty(publicUrl);
  if (!party) throw new ServiceError('NOT_FOUND', 'Passkeys cannot be used at the address of this service.');
  return party;
}
