import { readFileSync } from 'node:fs';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { SCOPES } from '../../core/access/credential.js';
import { ConfigInvalid, type GrpcConfig } from '../config/config.js';
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from './server.js';
import { OPERATOR_SCOPES, type ServiceCaller, type ServiceCallers } from './service-callers.js';
import { WatchedCallers } from './watched-callers.js';

/** Whoever reaches a process that is alone on its machine may do everything. */
const ANYBODY: ServiceCaller = { name: 'local', scopes: [...SCOPES, ...OPERATOR_SCOPES] };

/** The gRPC front as it is configured. Nothing listens yet. Throws `ConfigInvalid` and `CallersInvalid`. */
export function openGrpc(config: GrpcConfig, parts: Pick<GrpcServerOptions, 'context' | 'logger' | 'observer'>): GrpcServer {
  const credentials = credentialsOf(config);
  const callers = callersOf(config, parts.logger);
  const server = createGrpcServer({ ...parts, callers, credentials });
  return { ...server, close: (graceMs) => server.close(graceMs).finally(() => callers.close()) };
}

function callersOf({ callersFile }: GrpcConfig, logger: Logger): ServiceCallers & { close(): void } {
  if (callersFile === undefined) return { find: () => ANYBODY, close: () => undefined };
  return readable('grpc.callers_file', callersFile, () => new WatchedCallers(callersFile, logger));
}

function credentialsOf({ tlsCertFile, tlsKeyFile, tlsClientCaFile }: GrpcConfig): ServerCredentials {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return ServerCredentials.createInsecure();
  const authority = tlsClientCaFile === undefined ? null : readText('grpc.tls_client_ca_file', tlsClientCaFile);
  const pair = { cert_chain: readText('grpc.tls_cert_file', tlsCertFile), private_key: readText('grpc.tls_key_file', tlsKeyFile) };
  try {
    return ServerCredentials.createSsl(authority, [pair], authority !== null);
  } catch (error) {
    throw new ConfigInvalid([`grpc.tls_cert_file and grpc.tls_key_file are no certificate and its key: ${(error as Error).message}.`]);
  }
}

function readText(key: string, path: string): Buffer {
  return readable(key, path, () => readFileSync(path));
}

function readable<T>(key: string, path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ConfigInvalid ? error : new ConfigInvalid([`${key} ${path} cannot be read.`]);
  }
}
