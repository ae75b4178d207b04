import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { readHostname } from './allow-list.js';
import { HttpError } from './http-error.js';
import type { NetworkAddress } from './special-addresses.js';

/** A host and a port of it, in canonical form. */
export interface Endpoint {
  readonly protocol: 'http:' | 'https:';
  /** Lower case and ASCII, without brackets or a dot at the end. */
  readonly hostname: string;
  /** Also where it is the protocol's own. */
  readonly port: string;
}

/** The target of a request, in canonical form. */
export interface Target extends Endpoint {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  /** The address without query and user information: what may be logged, unless its path may be a secret. */
  readonly shown: string;
}

/**
 * Reads an address, or throws `HttpError` with `refused-address`; what cannot be read is not repeated in the message.
 */
export function readTarget(address: string | URL, base?: Target): Target {
  let url: URL;
  try {
    url = new URL(address, base && base.origin + base.path);
  } catch {
    throw refusedTarget('The address is no URL.');
  }
  const { protocol } = url;
  if (protocol !== 'https:' && protocol !== 'http:')
    throw refusedTarget(`An address must be https, not ${protocol.slice(0, 20)}`);
  if (url.username !== '' || url.password !== '')
    throw refusedTarget('An address must not carry a user name or a password; send them in a header.');
  const hostname = readHostname(url.hostname);
  if (hostname === undefined) throw refusedTarget('The host of the address is no name.');
  const port = url.port === '' ? defaultPortOf(protocol) : url.port;
  const host = hostname.includes(':') ? `[${hostname}]` : hostname;
  const origin = `${protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`;
  return { protocol, hostname, port, origin, path: url.pathname + url.search, shown: origin + url.pathname };
}

/** The address a host name is, where it is one. */
export function literalAddress(hostname: string): NetworkAddress | undefined {
  return isIP(hostname) === 0 ? undefined : ipaddr.parse(hostname);
}

function defaultPortOf(protocol: Target['protocol']): string {
  return protocol === 'https:' ? '443' : '80';
}

function refusedTarget(message: string): HttpError {
  return new HttpError('refused-address', message, { requestSent: false });
}
