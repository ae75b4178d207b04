import { resolve } from 'node:path';
import type { Config } from './config.js';
import type { ProgramValues } from './config-keys.js';

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
