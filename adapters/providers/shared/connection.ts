import { readFileSync } from 'node:fs';
import type { Options } from '../../driver.js';
import { mayBePublic, readTarget } from '../../http/allow-list.js';
import { HttpClient } from '../../http/http-client.js';
import { type Environment, Proxies } from '../../http/proxies.js';
import { KEY_PATTERN } from './connection-options.js';

/** The part of an instance's options that `connectionOptions` describes. */
interface ConnectionSection {
  readonly base_url?: string;
  readonly api_key?: string;
  readonly api_key_file?: string;
  readonly ca_file?: string;
  readonly proxy: 'none' | 'environment';
  readonly connect_timeout_seconds: number;
  readonly answer_timeout_seconds: number;
  readonly idle_timeout_seconds: number;
  readonly max_connections: number;
}

export interface ConnectionOpening {
  readonly options: Options;
  /** The name of the instance, for sentences. */
  readonly instance: string;
  /**
   * The text before the key in its header; Bearer when absent, nothing where it is empty. With Basic the key is a user
   * name and a password, with a colon between them.
   */
  readonly scheme?: string;
  /** The header that has the key, in lower case; `authorization` when absent. */
  readonly header?: string;
  /** The variables that may name proxies; the process's own when absent. */
  readonly environment?: Environment;
}

/**
 * Reads the options and the files they name, and sends nothing. Throws one sentence for what cannot work; it never
 * repeats a key.
 */
export function openConnection({
  options,
  instance,
  scheme = 'Bearer',
  header = 'authorization',
  environment = process.env,
}: ConnectionOpening): Connection {
  const section = options as unknown as ConnectionSection;
  const key = keyOf(section, instance);
  if (section.base_url === undefined) throw new Error(`providers.${instance}.base_url must be set.`);
  const base = new URL(section.base_url);
  if (key !== undefined) refuseWithoutTls(base, instance);
  return new Connection({
    base,
    client: new HttpClient({
      // The operator chose the address, which may be in their own network.
      allow: [hostAndPort(base)],
      extraCa: authoritiesOf(section, instance),
      ...(section.proxy === 'environment' ? { proxies: proxiesOf(environment, instance) } : {}),
      maxConnectionsPerOrigin: section.max_connections,
      limits: {
        connectTimeoutMs: milliseconds(section.connect_timeout_seconds),
        headersTimeoutMs: milliseconds(section.answer_timeout_seconds),
        idleTimeoutMs: milliseconds(section.idle_timeout_seconds),
      },
    }),
    credentials: key === undefined ? {} : { [header]: `${scheme} ${credentialOf(key, scheme, instance)}`.trimStart() },
  });
}

/** The HTTP client of one instance, and the address and the credential that the operator configured for it. */
export class Connection {
  readonly client: HttpClient;
  /** Without a slash at its end. */
  readonly base: string;
  /** For requests to `base` only. */
  readonly credentials: Readonly<Record<string, string>>;

  constructor({
    base,
    client,
    credentials,
  }: {
    base: URL;
    client: HttpClient;
    credentials: Connection['credentials'];
  }) {
    this.client = client;
    this.base = base.href.replace(/\/+$/, '');
    this.credentials = credentials;
  }

  /**
   * The address of a route below `base`. Each segment is encoded, so none can lead elsewhere. Throws a `RangeError` for
   * an empty segment and one of dots.
   */
  urlOf(...segments: readonly string[]): string {
    for (const segment of segments) if (/^\.{0,2}$/.test(segment)) throw new RangeError('A path has no such segment.');
    return [this.base, ...segments.map(encodeURIComponent)].join('/');
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

function keyOf({ api_key: key, api_key_file: file }: ConnectionSection, instance: string): string | undefined {
  if (file === undefined) return key;
  const name = `providers.${instance}.api_key_file`;
  if (key !== undefined) throw new Error(`${name} and api_key are both set; only one may be.`);
  const read = textOf(file, name).trim();
  if (!new RegExp(KEY_PATTERN).test(read))
    throw new Error(`${name} must name a file with one key of printable characters.`);
  return read;
}

/** Within the operator's own network it is up to them. */
function refuseWithoutTls(base: URL, instance: string): void {
  const { protocol, hostname, origin } = readTarget(base);
  if (protocol === 'http:' && mayBePublic(hostname))
    throw new Error(
      `providers.${instance}: its key would go to ${origin} without TLS; write https://, or an address or a name of a private network.`,
    );
}

function credentialOf(key: string, scheme: string, instance: string): string {
  if (scheme !== 'Basic') return key;
  if (!/^[^:]+:/.test(key))
    throw new Error(`providers.${instance}: its key must be a user name and a password, with a colon between them.`);
  return Buffer.from(key).toString('base64');
}

function authoritiesOf({ ca_file: file }: ConnectionSection, instance: string): readonly string[] {
  if (file === undefined) return [];
  const name = `providers.${instance}.ca_file`;
  const pem = textOf(file, name);
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`${name} must name a file of certificates in PEM.`);
  return [pem];
}

function proxiesOf(environment: Environment, instance: string): Proxies {
  try {
    return new Proxies(environment);
  } catch (error) {
    throw new Error(`providers.${instance}.proxy: ${(error as RangeError).message}`, { cause: error });
  }
}

function textOf(file: string, name: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${name} names a file that cannot be read (${(error as NodeJS.ErrnoException).code}).`, {
      cause: error,
    });
  }
}

function hostAndPort({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

function milliseconds(count: number): number {
  return Math.max(1, Math.round(count * 1_000));
}
