import { isIP } from 'node:net';
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
