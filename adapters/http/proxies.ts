import ipaddr from 'ipaddr.js';
import { request as httpRequest } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { type Endpoint, isWithin, literalAddress, type Network, readHostname } from './allow-list.js';

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for each host, as the environment configures it: `https_proxy` for https and `http_proxy` for http, else
 * `all_proxy`; none for what `no_proxy` lists. Each may be in upper case; lower case wins, and an empty one counts as
 * absent.
 */
export class Proxies {
  private readonly https: Proxy | undefined;
  private readonly http: Proxy | undefined;
  private readonly exceptions: NoProxyList;

  /** Throws a `RangeError` that names the variable, not its value, if it is not a proxy URL. */
  constructor(environment: Environment) {
    this.https = proxyOf(environment, ['https_proxy', 'all_proxy']);
    this.http = proxyOf(environment, ['http_proxy', 'all_proxy']);
    this.exceptions = new NoProxyList(variable(environment, 'no_proxy')?.value ?? '');
  }

  /** The proxy to a target, or undefined where it is called directly. */
  for(target: Endpoint): Proxy | undefined {
    const proxy = target.protocol === 'https:' ? this.https : this.http;
    return proxy === undefined || this.exceptions.has(target) ? undefined : proxy;
  }
}

type Entry = { readonly network: Network } | { readonly hostname: string; readonly port: string | undefined };

/**
 * Hosts that are called without a proxy, in the form of `NO_PROXY`: names, which mean all names below them too,
 * addresses and networks (`10.0.0.0/8`), with commas or blanks between them; a name or an address may have a port. `*`
 * means all hosts. Names are not resolved: an address is listed only for requests to that address. A value that cannot
 * be parsed lists no hosts.
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

/** A proxy that opens tunnels. `https:` is a proxy that is itself called over TLS. */
export interface Proxy extends Endpoint {
  /** The value of `Proxy-Authorization`; a secret. */
  readonly authorization?: string;
}

/** The name and the value of a variable that is set. */
function variable(environment: Environment, lowerCase: string) {
  for (const name of [lowerCase, lowerCase.toUpperCase()]) {
    const value = environment[name] ?? '';
    if (value !== '') return { name, value };
  }
  return undefined;
}

function proxyOf(environment: Environment, names: readonly string[]): Proxy | undefined {
  const found = names.map((name) => variable(environment, name)).find((one) => one !== undefined);
  if (found === undefined) return undefined;
  const { name, value } = found;
  const url = urlOf(value);
  const hostname = url === undefined ? undefined : readHostname(url.hostname);
  if (url === undefined || hostname === undefined)
    throw new RangeError(`${name} is no address of a proxy; write http:// or https://, a host and a port.`);
  const isTls = url.protocol === 'https:';
  const authorization = authorizationOf(url, name);
  return {
    protocol: isTls ? 'https:' : 'http:',
    hostname,
    port: url.port === '' ? (isTls ? '443' : '80') : url.port,
    ...(authorization === undefined ? {} : { authorization }),
  };
}

/** A host and a port alone are a proxy over http. */
function urlOf(value: string): URL | undefined {
  const address = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

function authorizationOf({ username, password }: URL, name: string): string | undefined {
  if (username === '' && password === '') return undefined;
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(credentials).toString('base64')}`;
  } catch {
    throw new RangeError(`${name} has a user name or a password that is not percent-encoded.`);
  }
}

/** A proxy made no connection to the target: nothing of the request was sent to it. The code begins with `PROXY_`. */
export class ProxyFailure extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
    this.name = 'ProxyFailure';
  }
}

const MAX_HEADER_BYTES = 16 * 1024;
const TIMED_OUT = 'UND_ERR_CONNECT_TIMEOUT';

/**
 * Asks the proxy at the other end of a connection to connect it to the target with CONNECT. Throws `ProxyFailure` for
 * any response but success, and then destroys the connection.
 */
export async function openTunnel(
  socket: Socket,
  { hostname, port }: Endpoint,
  authorization: string | undefined,
  timeoutMs: number,
): Promise<void> {
  const authority = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
  const request = httpRequest({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
    createConnection: () => socket,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const timer = setTimeout(
    () => request.destroy(Object.assign(new Error('The proxy took too long.'), { code: TIMED_OUT })),
    timeoutMs,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      request.once('error', reject);
      request.once('connect', ({ statusCode = 0 }, _, head: Buffer) => {
        if (statusCode < 200 || statusCode > 299)
          reject(new ProxyFailure(`The proxy answered with ${statusCode}.`, `PROXY_ANSWERED_${statusCode}`));
        // In TLS and in HTTP the server never speaks first.
        else if (head.byteLength > 0)
          reject(new ProxyFailure('The proxy sent more than its answer.', 'PROXY_ANSWER_INVALID'));
        else resolve();
      });
      request.end();
    });
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The reason why a connection through a proxy failed, as a failure of the proxy. A time that was exceeded stays what it
 * is.
 */
export function proxyFailure(error: unknown): Error {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (error instanceof ProxyFailure || (error instanceof Error && code === TIMED_OUT)) return error;
  const named = typeof code === 'string' ? code : 'UNREACHABLE';
  return new ProxyFailure('The proxy cannot be used.', `PROXY_${named}`);
}
