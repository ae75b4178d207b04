import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { SCOPES } from '../../core/access/credential.js';
import { ConfigInvalid, type GrpcConfig } from '../config/config.js';
import { OPERATOR_SCOPES, type ServiceCaller, type ServiceCallers, WatchedCallers } from './callers.js';
import { WatchedCertificates } from './certificates.js';
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from './server.js';

/** Any client that can reach a process with its own data folder on this machine may do everything. */
const ANYBODY: ServiceCaller = { name: 'local', scopes: [...SCOPES, ...OPERATOR_SCOPES] };

/** A gRPC front that may authenticate its services by a file. */
export interface OpenGrpc extends GrpcServer {
  /** Reloads the file of callers, if there is one, and logs the result. */
  readCallersAgain(): void;
}

/** The gRPC front as it is configured. Nothing listens yet. Throws `ConfigInvalid` and `CallersInvalid`. */
export function openGrpc(
  config: GrpcConfig,
  parts: Pick<
    GrpcServerOptions,
    'context' | 'logger' | 'observer' | 'isReady' | 'requireStores' | 'tokens' | 'publicUrl'
  >,
): OpenGrpc {
  const callers = callersOf(config, parts.logger);
  try {
    const credentials = credentialsOf(config, parts.logger);
    const server = createGrpcServer({ ...parts, callers, credentials });
    const close = (): void => {
      callers.close();
      parts.tokens?.close();
      if (credentials instanceof WatchedCertificates) credentials.close();
    };
    return {
      ...server,
      readCallersAgain: () => callers.readAgain(),
      close: (graceMs) => server.close(graceMs).finally(close),
    };
  } catch (error) {
    callers.close();
    throw error;
  }
}

function callersOf({ callersFile }: GrpcConfig, logger: Logger): ServiceCallers & { readAgain(): void; close(): void } {
  if (callersFile === undefined) return { find: () => ANYBODY, readAgain: () => undefined, close: () => undefined };
  try {
    return new WatchedCallers(callersFile, logger);
  } catch (error) {
    throw error instanceof ConfigInvalid
      ? error
      : new ConfigInvalid([`grpc.callers_file ${callersFile} cannot be read.`]);
  }
}

function credentialsOf({ tlsCertFile, tlsKeyFile, tlsClientCaFile }: GrpcConfig, logger: Logger): ServerCredentials {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return ServerCredentials.createInsecure();
  return new WatchedCertificates({ certFile: tlsCertFile, keyFile: tlsKeyFile, clientCaFile: tlsClientCaFile }, logger);
}
