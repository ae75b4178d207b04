import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { checkCertificates, readPem } from '../../config/pem.js';
import { isLoopback } from '../../config/network-address.js';
import { printable } from '../../logging/logged-fields.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { isoDate } from '../terminal.js';

/** The file names given on a command line. */
export interface TlsFileNames {
  readonly grpcCa?: string;
  readonly grpcCert?: string;
  readonly grpcKey?: string;
}

/** In PEM form. A certificate always comes with its key. */
export interface TlsFiles {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/**
 * The checked files: a server closes the connection on a client certificate that it does not accept, without a reason.
 * Throws `Failure` with one sentence that names the file.
 */
function readTlsFiles(
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

/** The options given on a command line. */
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

const LOOK_MS = 5_000;
const MAX_NAMES = 5;

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * The fault in the certificate of an untrusted server, as a phrase to follow its address. The certificate is fetched
 * again by a TLS handshake alone, because the library does not expose it. Undefined if that takes more than 5
 * seconds.
 */
export function certificateFault({ address, host, tls }: GrpcPlace, now: number): Promise<string | undefined> {
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  return new Promise((accept) => {
    const socket = connect({
      host,
      port,
      ALPNProtocols: ['h2'],
      rejectUnauthorized: false,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
    });
    const end = (fault?: string) => {
      clearTimeout(limit);
      socket.destroy();
      accept(fault);
    };
    const limit = setTimeout(end, LOOK_MS);
    socket.on('error', () => end()).on('close', () => end());
    socket.once('secureConnect', () => end(faultOf(socket, { host, isAuthorityGiven: tls?.ca !== undefined }, now)));
  });
}

function faultOf(
  socket: TLSSocket,
  { host, isAuthorityGiven }: { readonly host: string; readonly isAuthorityGiven: boolean },
  now: number,
): string | undefined {
  if (socket.authorized) return undefined;
  const certificate = socket.getPeerCertificate();
  // An error code, although its type differs.
  const code = String(socket.authorizationError);
  const [from, to] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
  if (code === 'CERT_HAS_EXPIRED')
    return to <= now
      ? `its certificate expired on ${isoDate(to)}`
      : 'its certificate is of an authority whose own certificate has expired';
  if (code === 'CERT_NOT_YET_VALID' && from > now) return `its certificate is not valid before ${isoDate(from)}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `its certificate is for ${namesIn(certificate)}, not for ${host}`;
  if (!UNKNOWN_AUTHORITY.has(code)) return `its certificate is not trusted (${printable(code)})`;
  return isAuthorityGiven
    ? 'its certificate is not from an authority in the file of --grpc-ca'
    : 'its certificate is from an authority this machine does not trust; name it with --grpc-ca';
}

/** Those it may be reached by; without any, the one it bears, which stood for them in older days. */
function namesIn({ subjectaltname = '', subject }: PeerCertificate): string {
  const names = subjectaltname.split(', ').flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const shown = names.length === 0 ? String(subject.CN ?? 'nobody') : names.slice(0, MAX_NAMES).join(', ');
  return printable(shown).slice(0, 500) + more;
}
