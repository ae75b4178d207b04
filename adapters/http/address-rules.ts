import type { AllowList } from './allow-list.js';
import { specialAddress, type NetworkAddress } from './special-addresses.js';
import { literalAddress, type Endpoint } from './target.js';

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
  { protocol, hostname, port }: Endpoint,
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

/** Names that are never of the public internet (RFC 6761, 6762 and 8375, and ICANN's `internal`), and names without a dot. */
const LOCAL_NAME = /^[^.]*$|(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;

/** Whether a host may be on the public internet, as its name or its address alone says. */
export function mayBePublic(hostname: string): boolean {
  const literal = literalAddress(hostname);
  return literal === undefined ? !LOCAL_NAME.test(hostname) : specialAddress(literal) === undefined;
}

/**
 * Throws unless a target may be called through a proxy. The proxy resolves its name, so a name of a local network is refused:
 * it would be the proxy's network. A name of the public internet may lead there as well; to prevent that is up to the
 * proxy.
 */
export function requireAllowedName(allow: AllowList, { protocol, hostname, port }: Endpoint): void {
  if (allow.hasHost(hostname, port) || literalAddress(hostname) !== undefined) return;
  if (LOCAL_NAME.test(hostname))
    throw new AddressRefused('the host has a name of a local network, which is not listed');
  if (protocol !== 'https:') throw new AddressRefused('only listed hosts may be called without TLS');
}

/**
 * Whether a target that a client chose may be called, as far as it says itself; where its name leads to is checked when it
 * is called. An address in place of a name must be listed, whatever it is.
 */
export function mayBeCalled(allow: AllowList, { protocol, hostname, port }: Endpoint): boolean {
  if (allow.hasHost(hostname, port)) return true;
  const literal = literalAddress(hostname);
  if (literal !== undefined) return allow.hasAddress(literal);
  return allow.hasNetworks || (protocol === 'https:' && mayBePublic(hostname));
}
