import { constants, createPrivateKey } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ConfigInvalid } from '../../config/config.js';
import { checkCertificates, readPem } from '../../config/pem-files.js';

/** Where the certificate of this server is, its key, and those that vouch for callers. All in PEM form. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string | undefined;
}

/**
 * The TLS material as the files have it now. It is tried out here: otherwise the first caller would find what cannot be
 * used, and a truncated list of authorities would stay unnoticed. Throws `ConfigInvalid` with one sentence that names
 * the key.
 */
export function readCertificates({ certFile, keyFile, clientCaFile }: CertificateFiles): SecureContextOptions {
  const cert = read(
    'grpc.tls_cert_file',
    certFile,
    'is not a certificate, or a chain of whole ones, in PEM form',
    checkCertificates,
  );
  const key = read(
    'grpc.tls_key_file',
    keyFile,
    'is not a private key in PEM form that opens without a password',
    createPrivateKey,
  );
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new ConfigInvalid([`grpc.tls_key_file ${keyFile} is not the key of grpc.tls_cert_file ${certFile}.`]);
  }
  const ca =
    clientCaFile === undefined
      ? {}
      : {
          ca: read(
            'grpc.tls_client_ca_file',
            clientCaFile,
            'is not a list of whole certificates in PEM form',
            checkCertificates,
          ),
        };
  // Without tickets no session is resumed, so that each connection shows a currently valid certificate.
  return { minVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET, cert, key, ...ca };
}

function read(key: string, path: string, fault: string, check: (text: string) => unknown): string {
  return readPem(path, check, fault, (why) => new ConfigInvalid([`${key} ${path} ${why}.`]));
}
