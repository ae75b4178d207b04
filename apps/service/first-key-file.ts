import { readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { isApiKeyShaped } from '../../core/access/credential.js';
import type { Identity, Machine } from '../../core/context.js';
import type { Clock } from '../../core/ports/machine.js';
import type { Config } from '../config/config.js';

/** How often the process looks whether another process has seen the key, in milliseconds. */
export const FIRST_KEY_CHECK_MS = 60_000;

export interface FirstKeyFileOptions {
  readonly path: string;
  readonly context: Pick<Identity & Machine, 'credentials' | 'digests'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** The file to which a first start without a terminal writes its key. */
export function firstKeyPath({ dataFolder }: Pick<Config, 'dataFolder'>): string {
  return join(dataFolder, 'first-key');
}

/**
 * Deletes the file with the key of the first start once the key was used: its owner has copied it by then. A use in this
 * process deletes it before the request is served; a use in another process, or one before a crash, is found in the
 * store by the day of the key's last use, at the start and every minute while the file exists. A file that holds no key
 * of this installation is left alone. A file that cannot be deleted is reported once in the life of the process.
 */
export class FirstKeyFile {
  /** The key in the file, while its first use is awaited. */
  private keyId: string | undefined;
  private cancelCheck: () => void = () => undefined;
  private isClosed = false;

  constructor(private readonly options: FirstKeyFileOptions) {}

  /**
   * Starts to wait for the first use of the key in the file, and returns whether the file is there with an unused key.
   * Never throws: what the store does not tell now is read at the next check.
   */
  async watch(): Promise<boolean> {
    const { context, clock } = this.options;
    const secret = this.readSecret();
    if (secret === undefined || this.isClosed) return false;
    try {
      const key = await context.credentials.findKey({ digest: context.digests.keyed(secret) });
      if (key === null || this.isClosed) return false;
      this.keyId = key.keyId;
      if (key.lastUsedAt !== undefined) this.used(key.keyId);
    } catch {
      // The store is away, which the log says elsewhere.
    }
    if (this.isClosed) return false;
    this.cancelCheck();
    this.cancelCheck = clock.after(FIRST_KEY_CHECK_MS, () => void this.watch());
    return true;
  }

  /** Deletes the file if it holds this key. */
  used(credentialId: string): void {
    if (credentialId !== this.keyId) return;
    const { path: file, logger } = this.options;
    this.close();
    try {
      unlinkSync(file);
      logger.info({ file, credentialId }, 'first key deleted');
    } catch (error) {
      const fault = codeOf(error);
      if (fault !== 'ENOENT') logger.warn({ file, credentialId, fault }, 'first key not deleted');
    }
  }

  /** Stops waiting for a use. */
  close(): void {
    this.isClosed = true;
    this.keyId = undefined;
    this.cancelCheck();
  }

  private readSecret(): string | undefined {
    const { path: file, logger } = this.options;
    try {
      const secret = readFileSync(file, 'utf8').trim();
      return isApiKeyShaped(secret) ? secret : undefined;
    } catch (error) {
      const fault = codeOf(error);
      if (fault !== 'ENOENT') logger.warn({ file, fault }, 'first key not deleted');
      return undefined;
    }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
