import { readHostname } from '../allow-list.js';
import type { Endpoint } from '../target.js';
import { NoProxyList } from './no-proxy-list.js';

/** A proxy that opens tunnels. `https:` is a proxy that is itself called over TLS. */
export interface Proxy extends Endpoint {
  /** The value of `Proxy-Authorization`; a secret. */
  readonly authorization?: string;
}

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Which proxy leads to which host, as the environment says it: `https_proxy` for https and `http_proxy` for http, else
 * `all_proxy`; none for what `no_proxy` lists. Each may be in upper case; lower case wins, and an empty one counts as absent.
 */
export class Proxies {
  private readonly https: Proxy | undefined;
  private readonly http: Proxy | undefined;
  private readonly exceptions: NoProxyList;

  /** Throws a `RangeError` that names the variable, not its value, where it is no address of a proxy. */
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

interface Variable {
  readonly name: string;
  readonly value: string;
}

function variable(environment: Environment, lowerCase: string): Variable | undefined {
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
