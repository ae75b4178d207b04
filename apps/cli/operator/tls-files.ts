import { createPrivateKey, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { checkCertificates, readPem } from '../../config/pem-files.js';
import { usageFailure } from '../exit.js';
import { isoDate } from '../terminal.js';

/** As they are named on a command line. */
export interface TlsFileNames {
  readonly grpcCa?: string;
  readonly grpcCert?: string;
  readonly grpcKey?: string;
}

/** In PEM form. A certificate never comes without its key. */
export interface TlsFiles {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/**
 * The checked files: a server closes the connection on a client certificate that it does not accept, without a reason.
 * Throws `Failure` with one sentence that names the file.
 */
export function readTlsFiles(
  { grpcCa, grpcCert, grpcKey }: TlsFileNames,
  { folder, now }: { readonly folder: string; readonly now: number },
): TlsFiles {
  const read = (option: string, path: string, check: (text: string) => unknown, what: string) =>
    Buffer.from(
      readPem(resolve(folder, path), check, `is not ${what}`, (why) => usageFailure(`${option} ${path} ${why}.`)),
    );
  if ((grpcCert === undefined) !== (grpcKey === undefined))
    throw usageFailure('--grpc-cert and --grpc-key belong together: give both or neither.');
  const ca =
    grpcCa === undefined
      ? {}
      : { ca: read('--grpc-ca', grpcCa, checkCertificates, 'a certificate, or a list of whole ones, in PEM form') };
  if (grpcCert === undefined || grpcKey === undefined) return ca;
  const cert = read('--grpc-cert', grpcCert, checkCertificates, 'a certificate, or a chain of whole ones, in PEM form');
  const key = read('--grpc-key', grpcKey, createPrivateKey, 'a private key in PEM form that opens without a password');
  const fault = clientFault(cert, now);
  if (fault !== undefined) throw usageFailure(`--grpc-cert ${grpcCert} ${fault}.`);
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw usageFailure(`--grpc-key ${grpcKey} is not the key of --grpc-cert ${grpcCert}.`);
  return { ...ca, cert, key };
}

/** Object ids of the extended key usage extension. */
const TO_BE_A_CLIENT = '1.3.6.1.5.5.7.3.2';
const FOR_ANYTHING = '2.5.29.37.0';

/** Why every server would refuse this client certificate, or undefined. Its issuer is checked by the server. */
function clientFault(cert: Buffer, now: number): string | undefined {
  const certificate = new X509Certificate(cert);
  // Undefined for a certificate without that extension; the type declaration does not allow for it.
  const uses: readonly string[] | undefined = certificate.keyUsage;
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (to <= now) return `expired on ${isoDate(to)}`;
  if (from > now) return `is not valid before ${isoDate(from)}`;
  if (uses !== undefined && !uses.includes(TO_BE_A_CLIENT) && !uses.includes(FOR_ANYTHING))
    return 'is not a client certificate';
  return undefined;
}
