import { isFullDisk, removeLeftFiles, UnnamedFile } from '../../../adapters/unnamed-file.js';
import { ServiceError } from '../../../core/errors.js';

/** How long a client waits for room on the disk: most bodies arrive within some seconds. */
const NO_ROOM_RETRY_MS = 5_000;

const ACCOUNT_SHARE = 4;

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
  private readonly heldBy = new Map<string, number>();
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

  /**
   * `own`: what the same form holds already. Throws SERVICE_UNAVAILABLE where so many bytes are not free. Several forms of
   * one account get a quarter of the disk together, so that others find room.
   */
  reserve(accountId: string, byteSize: number, own = 0): void {
    const ofAccount = this.heldBy.get(accountId) ?? 0;
    const isTooMuch = ofAccount > own && ofAccount + byteSize > this.maxBytes / ACCOUNT_SHARE;
    if (isTooMuch || this.held + byteSize > this.maxBytes)
      throw new ServiceError(
        'SERVICE_UNAVAILABLE',
        `Too many files ${isTooMuch ? 'of this account ' : ''}are being received; try again.`,
        { retryAfterMs: NO_ROOM_RETRY_MS },
      );
    this.held += byteSize;
    this.heldBy.set(accountId, ofAccount + byteSize);
  }

  release(accountId: string, byteSize: number): void {
    const left = (this.heldBy.get(accountId) ?? 0) - byteSize;
    this.held -= byteSize;
    if (left > 0) this.heldBy.set(accountId, left);
    else this.heldBy.delete(accountId);
  }

  /** Throws SERVICE_UNAVAILABLE where the disk is full, and other errors of the disk. */
  async open(): Promise<UnnamedFile> {
    await this.cleaned;
    return UnnamedFile.open(this.folder).catch(refuseFullDisk);
  }
}

/** For errors of the disk: SERVICE_UNAVAILABLE where it is full. */
export function refuseFullDisk(error: unknown): never {
  if (!isFullDisk(error)) throw error;
  throw new ServiceError('SERVICE_UNAVAILABLE', 'The disk for files that are received is full.', {
    retryAfterMs: NO_ROOM_RETRY_MS,
  });
}
