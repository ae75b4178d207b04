import { ServerCredentials } from '@grpc/grpc-js';
import { constants, createPrivateKey } from 'node:crypto';
import { statSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from 'pino';
import { ConfigInvalid } from '../config/config.js';
import { checkCertificates, readPem } from '../config/pem.js';

/**
 * The files of this server's certificate, its key, and the certificates of authorities that vouch for callers. All
 * are in PEM form.
 */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string | undefined;
}

/**
 * The TLS material currently in the files. It is tested here: otherwise the first caller would find invalid material,
 * and a truncated list of authorities would remain unnoticed. Throws `ConfigInvalid` with one sentence that names the
 * key.
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

const LOOK_EVERY_MS = 3_000;

export interface FileReader {
  /** Loads the current files and logs it; throws if they cannot be used. */
  take(): void;
  /** Logs why the files could not be used. */
  refuse(faults: readonly string[]): void;
}

/**
 * Files that may change while they are in use: they are checked every three seconds, and read again once one has
 * changed, was replaced, or was removed. Files that are invalid or cannot be read, for example because the process
 * has too many open files, have no effect, and are read at every check until they can be used. Each fault is reported
 * once. Does not keep a process alive.
 */
export class WatchedFiles {
  private state: string;
  private fault: string | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** Create it before the files are read: every change from that time on is noticed. */
  constructor(
    private readonly paths: readonly string[],
    private readonly reader: FileReader,
  ) {
    this.state = this.look();
  }

  start(everyMs = LOOK_EVERY_MS): void {
    this.timer = setInterval(() => {
      const state = this.look();
      if (state === this.state && this.fault === undefined) return;
      if (state !== this.state) this.fault = undefined;
      this.state = state;
      this.read();
    }, everyMs).unref();
  }

  /** At once, whether anything has changed or not. */
  readNow(): void {
    this.fault = undefined;
    this.read();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private read(): void {
    try {
      this.reader.take();
      this.fault = undefined;
    } catch (error) {
      const faults = faultsOf(error);
      const fault = faults.join('\n');
      if (fault !== this.fault) this.reader.refuse(faults);
      this.fault = fault;
    }
  }

  private look(): string {
    return this.paths.map(stateOf).join(';');
  }
}

/** The faults of a changed file, for the log: these are human mistakes, for which a stack trace adds nothing. */
function faultsOf(error: unknown): readonly string[] {
  return error instanceof ConfigInvalid ? error.faults : [String(error)];
}

function stateOf(path: string): string {
  try {
    const { ino, mtimeMs, ctimeMs, size } = statSync(path);
    return [ino, mtimeMs, ctimeMs, size].join();
  } catch (error) {
    return String(error);
  }
}

/**
 * Certificates of files that may change, so that a renewed one needs no restart: connections that begin after the
 * change use it, and existing ones continue. A change that cannot be used has no effect, and is reported; if a pair is
 * replaced one file after the other, the first change may be reported. (The library's own watcher would refuse all
 * connections in such a moment.)
 */
export class WatchedCertificates extends ServerCredentials {
  private readonly watched: WatchedFiles;

  /** Throws `ConfigInvalid`. */
  constructor(files: CertificateFiles, logger: Logger, everyMs?: number) {
    const { certFile, keyFile, clientCaFile } = files;
    super({ requestCert: clientCaFile !== undefined, rejectUnauthorized: true });
    this.watched = new WatchedFiles([certFile, keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])], {
      take: () => {
        this.updateSecureContextOptions(readCertificates(files));
        logger.info('certificates read');
      },
      refuse: (faults) => logger.warn({ faults }, 'certificates not read'),
    });
    this.updateSecureContextOptions(readCertificates(files));
    this.watched.start(everyMs);
  }

  /** Asked by the library when one port is bound twice. */
  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  close(): void {
    this.watched.close();
  }
}
