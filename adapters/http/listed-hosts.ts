import { isIP } from 'node:net';
import { readHostname } from './allow-list.js';
import type { Endpoint } from './target.js';

interface ListedHost {
  /** Without the dot of a suffix. */
  readonly hostname: string;
  readonly isSuffix: boolean;
  readonly port: string;
}

/**
 * Hosts outside an instance that its answers may point to, always over https. An entry is a name (`cdn.example.com`), or a
 * suffix that begins with a dot and means all names below it, but not itself (`.example.com`); with a port, or for 443.
 */
export class ListedHosts {
  private readonly hosts: readonly ListedHost[];

  /** Throws a `RangeError` that names the entry it cannot read. */
  constructor(entries: readonly string[]) {
    this.hosts = entries.map(hostOf);
  }

  has({ protocol, hostname, port }: Endpoint): boolean {
    return (
      protocol === 'https:' &&
      this.hosts.some(
        (host) => host.port === port && (host.isSuffix ? isBelow(hostname, host) : hostname === host.hostname),
      )
    );
  }
}

function isBelow(hostname: string, suffix: ListedHost): boolean {
  return hostname.endsWith(`.${suffix.hostname}`) && hostname.length > suffix.hostname.length + 1;
}

function hostOf(entry: string): ListedHost {
  const [, dot = '', name = '', port = '443'] =
    /^(\.?)(\[[^\]]+\]|[^.:[\]@?#/\\*\s][^:[\]@?#/\\*\s]*)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const hostname = name === '' ? undefined : readHostname(name);
  const isSuffix = dot !== '';
  if (hostname === undefined || (isSuffix && isIP(hostname) !== 0) || Number(port) < 1 || Number(port) > 65_535)
    throw new RangeError(
      `${entry} is no host; write a name, or a dot and a name for all hosts below it, and a port after a colon unless it is 443.`,
    );
  return { hostname, isSuffix, port: String(Number(port)) };
}
