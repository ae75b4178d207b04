import { readFileSync } from 'node:fs';
import type { ClientConfig } from 'pg';
import { PostgresRefused } from './errors.js';

/** How to log in at one server. */
export type Login = Pick<ClientConfig, 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'>;

/** The servers that a URL names, each with the same database and user; one of them takes writes. */
export interface PostgresAddress {
  readonly logins: readonly Login[];
  /** For sentences: hosts and ports as the URL has them. */
  readonly hosts: string;
  readonly database: string;
}

const FORM =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/?#\s]*)(?::(?<password>[^@/?#\s]*))?@)?(?<hosts>[^@/?#\s]*)\/(?<database>[^/?#\s]+)(?:\?(?<query>[^#\s]*))?$/;
const DEFAULT_PORT = 5432;

/**
 * Reads a connection URL in libpq's form, also with several hosts: `postgres://user:password@a:5432,b:5432/database`.
 * Parameters: `sslmode`, `disable` or `verify-full`; and `host`, the folder of a Unix socket. Throws `PostgresRefused`, which
 * never repeats the password.
 */
export function readConnectionUrl(url: string, caFile?: string): PostgresAddress {
  const { user, password, hosts = '', database = '', query = '' } = FORM.exec(url)?.groups ?? {};
  if (database === '') throw malformed();
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined)
    throw new PostgresRefused(`The PostgreSQL URL has ${unknown}, which Darkroom does not know; remove it.`);
  const places = placesOf(hosts, parameters.get('host'));
  const ssl = sslOf(parameters.get('sslmode'), places, caFile);
  const common = {
    user: decoded(user === undefined || user === '' ? 'postgres' : user),
    ...(password === undefined ? {} : { password: decoded(password) }),
    database: decoded(database),
  };
  return {
    logins: places.map((place) => ({ ...common, ...place, ssl })),
    hosts: hosts === '' ? (places[0]?.host ?? '') : hosts,
    database: common.database,
  };
}

interface Place {
  readonly host: string;
  readonly port: number;
}

const PARAMETERS: ReadonlySet<string> = new Set(['sslmode', 'host']);

function placesOf(hosts: string, socket: string | null): readonly Place[] {
  if (hosts === '' && socket !== null) return [{ host: socket, port: DEFAULT_PORT }];
  if (hosts === '' || socket !== null) throw malformed();
  return hosts.split(',').map((text) => {
    const { bracketed, name, port } =
      /^(?:\[(?<bracketed>[0-9a-fA-F:.]+)\]|(?<name>[^:[\]]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups ?? {};
    const host = bracketed ?? name;
    if (host === undefined) throw malformed();
    return { host: decoded(host), port: port === undefined ? DEFAULT_PORT : Number(port) };
  });
}

/** Without TLS a password and every record cross the network readable, so it must be asked for beyond this machine. */
function sslOf(
  mode: string | null,
  places: readonly Place[],
  caFile: string | undefined,
): false | { readonly rejectUnauthorized: true; readonly ca?: string } {
  if (mode === 'disable' || (mode === null && places.every(({ host }) => isOnThisMachine(host)))) return false;
  if (mode === null)
    throw new PostgresRefused(
      'The PostgreSQL URL does not say whether the connection is encrypted; add ?sslmode=verify-full, or ?sslmode=disable on a private network.',
    );
  if (mode !== 'verify-full')
    throw new PostgresRefused(
      `The PostgreSQL URL has sslmode=${mode}, which does not check who answers; write verify-full, with ca_file if the certificate is not from a public authority, or disable on a private network.`,
    );
  return { rejectUnauthorized: true, ...(caFile === undefined ? {} : { ca: certificatesIn(caFile) }) };
}

function certificatesIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new PostgresRefused(`The file ${file}, which postgres.ca_file names, cannot be read.`, error);
  }
}

function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed();
  }
}

function malformed(): PostgresRefused {
  return new PostgresRefused(
    'The PostgreSQL URL is invalid; write postgres://user:password@host:port/database, several hosts with commas between them, and percent-encode @ : / ? # in a password.',
  );
}
