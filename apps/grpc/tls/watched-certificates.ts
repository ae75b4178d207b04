import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { readCertificates, type CertificateFiles } from './certificates.js';
import { WatchedFiles } from '../watched-files.js';

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
