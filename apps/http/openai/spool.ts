import { removeLeftFiles, UnnamedFile } from '../../../adapters/unnamed-file.js';
import { ServiceError } from '../../../core/errors.js';

/** How long a client waits for room on the disk: most bodies arrive within some seconds. */
const NO_ROOM_RETRY_MS = 5_000;

export interface SpoolOptions {
  /** An existing folder. */
  readonly folder: string;
  /** The most bytes that the forms of this process may have on disk together. */
  readonly maxBytes: number;
}

/** The disk that the forms of a process use from their first byte until their files are stored. */
export class Spool {
  readonly maxBytes: number;
  private readonly folder: string;
  private readonly cleaned: Promise<void>;
  private held = 0;

  /** Removes what an earlier process left in the folder. */
  constructor({ folder, maxBytes }: SpoolOptions) {
    this.folder = folder;
    this.maxBytes = maxBytes;
    this.cleaned = removeLeftFiles(folder);
  }

  get heldBytes(): number {
    return this.held;
  }

  /** Throws SERVICE_UNAVAILABLE where so many bytes are not free. */
  reserve(byteSize: number): void {
    if (this.held + byteSize > this.maxBytes)
      throw new ServiceError('SERVICE_UNAVAILABLE', 'Too many files are being received; try again.', {
        retryAfterMs: NO_ROOM_RETRY_MS,
      });
    this.held += byteSize;
  }

  release(byteSize: number): void {
    this.held -= byteSize;
  }

  /** Throws SERVICE_UNAVAILABLE where the disk is full, and other errors of the disk. */
  async open(): Promise<UnnamedFile> {
    await this.cleaned;
    return UnnamedFile.open(this.folder).catch(refuseFullDisk);
  }
}

/** For errors of the disk: SERVICE_UNAVAILABLE where it is full. */
export function refuseFullDisk(error: NodeJS.ErrnoException): never {
  const { code = '' } = error;
  if (!['ENOSPC', 'EDQUOT'].includes(code)) throw error;
  throw new ServiceError('SERVICE_UNAVAILABLE', 'The disk for files that are received is full.', {
    retryAfterMs: NO_ROOM_RETRY_MS,
  });
}
