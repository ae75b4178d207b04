import { isLoopback } from '../../config/loopback.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { readTlsFiles, type TlsFileNames, type TlsFiles } from './tls-files.js';

/** As they are given on a command line. */
export interface GrpcOptions extends TlsFileNames {
  readonly grpc: string;
}

/** The address of a server's gRPC front, and the credentials for it. */
export interface GrpcPlace {
  /** `host:port`. */
  readonly address: string;
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  /** Absent on plaintext connections, which stay on this machine. */
  readonly tls?: TlsFiles;
  readonly token?: string;
}

const ADDRESS = /^(?<scheme>https?:\/\/)?(?<host>\[[0-9a-f:.]+\]|[\w.-]+):(?<port>[0-9]{1,5})$/i;

/**
 * TLS, except to this very machine, where http:// and saying nothing at all mean plaintext. The token is
 * DARKROOM_SERVICE_TOKEN. Throws `Failure` for what does not go together, and for plaintext to anywhere else: tokens
 * and secrets would travel in it.
 */
export function readGrpcPlace({ environment, folder }: CliIo, { grpc, ...fileNames }: GrpcOptions): GrpcPlace {
  const { scheme, host: written = '', port = '' } = ADDRESS.exec(grpc)?.groups ?? {};
  if (written === '' || Number(port) > 65_535)
    throw usageFailure(`The server's gRPC address must be host:port, such as 127.0.0.1:50051, not ${grpc}.`);
  const hasFiles = (fileNames.grpcCa ?? fileNames.grpcCert ?? fileNames.grpcKey) !== undefined;
  const host = written.replace(/^\[|\]$/g, '');
  const isPlain = scheme === undefined ? isLoopback(host) && !hasFiles : scheme.toLowerCase() === 'http://';
  if (isPlain && hasFiles) throw usageFailure('--grpc-ca, --grpc-cert and --grpc-key are for TLS; leave http:// away.');
  if (isPlain && !isLoopback(host))
    throw usageFailure(
      `Tokens and secrets would travel to ${host} in plain text; leave http:// away, and TLS is used.`,
    );
  const token = readToken(environment['DARKROOM_SERVICE_TOKEN']);
  const files = readTlsFiles(fileNames, { folder, now: Date.now() });
  return {
    address: `${written}:${port}`,
    host,
    ...(isPlain ? {} : { tls: files }),
    ...(token === undefined ? {} : { token }),
  };
}

function readToken(text: string | undefined): string | undefined {
  const token = text?.trim() || undefined;
  if (token !== undefined && !/^[\x21-\x7e]{1,4096}$/.test(token))
    throw usageFailure('DARKROOM_SERVICE_TOKEN must be one word of visible ASCII characters.');
  return token;
}
