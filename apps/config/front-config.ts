import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ProgramValues } from './config-keys.js';
import type { Config } from './config.js';

/** The configuration of the REST front, from the values of its keys. */
export function restOf(values: ProgramValues): Config['rest'] {
  return {
    host: values['rest.host'],
    port: values['rest.port'],
    ...present('publicUrl', values['rest.public_url']),
    trustedProxies: values['rest.trusted_proxies'],
    limits: {
      readsPerMinute: values['rest.rate_limits.reads_per_minute'],
      writesPerMinute: values['rest.rate_limits.creates_per_minute'],
      failedAuthenticationsPerMinute: values['rest.rate_limits.failed_authentications_per_minute'],
      bodyTimeoutMs: values['rest.body_timeout_seconds'],
      headersTimeoutMs: values['rest.headers_timeout_seconds'],
      requestTimeoutMs: values['rest.request_timeout_seconds'],
      keepAliveTimeoutMs: values['rest.keep_alive_timeout_seconds'],
      idleTimeoutMs: values['rest.idle_timeout_seconds'],
      maxHeaderBytes: values['rest.max_header_bytes'],
      maxConnections: values['rest.max_connections'],
      maxConnectionsPerAddress: values['rest.max_connections_per_address'],
    },
  };
}

/** The configuration of the MCP server, if there is one. */
export function mcpOf(values: ProgramValues): Pick<Config, 'mcp'> {
  return values['mcp.enabled'] ? { mcp: { confirmAboveCredits: values['mcp.confirm_above_credits'] } } : {};
}

/** The configuration of the gRPC front, if it has a port. Paths are relative to `folder`. */
export function grpcOf(values: ProgramValues, folder: string): Pick<Config, 'grpc'> {
  const port = values['grpc.port'];
  if (port === null) return {};
  const path = <K extends string>(name: K, value: string | null) =>
    present(name, value === null ? null : resolve(folder, value));
  return {
    grpc: {
      host: values['grpc.host'],
      port,
      ...path('callersFile', values['grpc.callers_file']),
      ...path('tlsCertFile', values['grpc.tls_cert_file']),
      ...path('tlsKeyFile', values['grpc.tls_key_file']),
      ...path('tlsClientCaFile', values['grpc.tls_client_ca_file']),
      plaintext: values['grpc.plaintext'],
    },
  };
}

/** What was left out is absent, not null. */
function present<K extends string>(name: K, value: string | null): { readonly [N in K]?: string } {
  return value === null ? {} : ({ [name]: value } as { readonly [N in K]: string });
}

/** How people sign in and connect programs, from the values of the keys. A missing part of a provider is empty. */
export function peopleOf(values: ProgramValues): Pick<Config, 'signIn' | 'oauth'> {
  const provider = {
    issuer: values['sign_in.provider_issuer'] ?? '',
    clientId: values['sign_in.provider_client_id'] ?? '',
    clientSecret: values['sign_in.provider_client_secret'] ?? '',
  };
  const isWanted = Object.values(provider).some((part) => part !== '');
  return {
    signIn: {
      enabled: values['sign_in.enabled'],
      operatorArea: values['sign_in.operator_area'],
      ...(isWanted ? { provider: { ...provider, name: values['sign_in.provider_name'] } } : {}),
    },
    oauth: {
      enabled: values['oauth.enabled'],
      registration: values['oauth.registration'],
      clientDocuments: values['oauth.client_documents'],
    },
  };
}

type People = Pick<Config, 'role' | 'signIn' | 'oauth' | 'rest' | 'log'>;

/** What cannot be together. The issuer of tokens, and the paths of pages and cookies, begin at the root of a host. */
export function peopleFaults({ role, signIn, oauth, rest, log }: People): string[] {
  const path = new URL(rest.publicUrl ?? 'http://host').pathname;
  return [
    ...(oauth.enabled && !signIn.enabled
      ? ['oauth.enabled needs sign_in.enabled: people must sign in to allow it.']
      : []),
    ...operatorFaults({ role, signIn, log }),
    ...providerFaults(signIn),
    ...(signIn.enabled && path !== '/'
      ? [
          'rest.public_url must have no path while people sign in; set sign_in.enabled and oauth.enabled to false to keep it.',
        ]
      : []),
  ];
}

/** What operators do is recorded in the log alone, so that it must be written there. */
function operatorFaults({ role, signIn, log }: Pick<People, 'role' | 'signIn' | 'log'>): string[] {
  if (!signIn.operatorArea || role === 'worker') return [];
  return [
    ...(signIn.enabled ? [] : ['sign_in.operator_area needs sign_in.enabled: operators must sign in.']),
    ...(['trace', 'debug', 'info'].includes(log.level)
      ? []
      : [`sign_in.operator_area needs log.level info: at ${log.level} the log has no lines about what operators do.`]),
  ];
}

function providerFaults({ provider }: Config['signIn']): string[] {
  if (provider === undefined) return [];
  const parts = {
    provider_issuer: provider.issuer,
    provider_client_id: provider.clientId,
    provider_client_secret: provider.clientSecret,
  };
  return Object.entries(parts).flatMap(([part, value]) =>
    value === '' ? [`sign_in.${part} is missing; an outside provider needs its issuer, a client id and a secret.`] : [],
  );
}

/**
 * The text of a file that `check` takes. Throws what `refuse` makes of what is wrong, in words that come after the
 * file's name: that it cannot be read, or `fault`. What the system or TLS says of it is left out: it says nothing that
 * the sentence does not.
 */
export function readPem(
  path: string,
  check: (text: string) => unknown,
  fault: string,
  refuse: (fault: string) => Error,
): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw refuse('cannot be read');
  }
  try {
    check(text);
  } catch {
    throw refuse(fault);
  }
  return text;
}

/**
 * Throws for what is no list of whole certificates in PEM form: TLS itself would take those before the first mistake
 * and say no word of the others.
 */
export function checkCertificates(text: string): void {
  const blocks = text.split(/^(?=-----BEGIN )/m).filter((block) => block.startsWith('-----BEGIN CERTIFICATE'));
  const certificates = blocks.map((block) => new X509Certificate(block));
  if (certificates.length === 0) throw new Error('There is none.');
}
