import type { AllowList } from './allow-list.js';
import { specialAddress, type NetworkAddress } from './special-addresses.js';
import type { Target } from './target.js';

/** Thrown while a connection is made; the request that waits for it turns it into an `HttpError`. */
export class AddressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AddressRefused';
  }
}

/**
 * Throws unless every address that a target's name resolves to is allowed: an attacker mixes one internal address with
 * public ones.
 */
export function requireAllowed(
  allow: AllowList,
  { protocol, hostname, port }: Pick<Target, 'protocol' | 'hostname' | 'port'>,
  addresses: readonly NetworkAddress[],
): void {
  if (allow.hasHost(hostname, port)) return;
  for (const address of addresses) {
    if (allow.hasAddress(address)) continue;
    const special = specialAddress(address);
    if (special !== undefined) throw new AddressRefused(`the host is at ${special}, which is not listed`);
    if (protocol !== 'https:') throw new AddressRefused('only listed hosts may be called without TLS');
  }
}
