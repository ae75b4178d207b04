import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { readHostname } from '../allow-list.js';
import { isWithin, type Network } from '../special-addresses.js';
import { literalAddress, type Endpoint } from '../target.js';

type Entry = { readonly network: Network } | { readonly hostname: string; readonly port: string | undefined };

/**
 * Hosts that are called without a proxy, in the form of `NO_PROXY`: names, which mean all names below them too, addresses
 * and networks (`10.0.0.0/8`), with commas or blanks between them; a name or an address may have a port. `*` means all hosts.
 * Names are not resolved: an address is listed only for requests to that address. What cannot be read lists nothing.
 */
export class NoProxyList {
  private readonly entries: readonly Entry[];
  private readonly hasAll: boolean;

  constructor(list: string) {
    const entries = list.split(/[\s,]+/).filter((entry) => entry !== '');
    this.hasAll = entries.includes('*');
    this.entries = entries.map(entryOf).filter((entry) => entry !== undefined);
  }

  has({ hostname, port }: Pick<Endpoint, 'hostname' | 'port'>): boolean {
    const address = literalAddress(hostname);
    return (
      this.hasAll ||
      this.entries.some((entry) => {
        if ('network' in entry) return address !== undefined && isWithin(address, entry.network);
        if (entry.port !== undefined && entry.port !== port) return false;
        return hostname === entry.hostname || (address === undefined && hostname.endsWith(`.${entry.hostname}`));
      })
    );
  }
}

function entryOf(entry: string): Entry | undefined {
  if (entry.includes('/')) return ipaddr.isValidCIDR(entry) ? { network: ipaddr.parseCIDR(entry) } : undefined;
  if (isIP(entry) === 6) return { hostname: ipaddr.parse(entry).toString(), port: undefined };
  const [, host = '', port] = /^(?:\*?\.)?(\[[^\]]+\]|[^:[\]*]+)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const hostname = readHostname(host);
  return hostname === undefined ? undefined : { hostname, port };
}
