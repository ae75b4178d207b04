import { createHash } from 'node:crypto';
import type { Log } from '../../../core/log.js';
import type { ProviderReference, SubmitAnswer } from '../../../core/ports/provider.js';
import { failure } from './sentences.js';

interface Content {
  /** SHA-256 of the bytes of the first reading that came to its end. */
  digest?: string;
}

/** A reference could not be prepared for the request, for a reason that is not the file's: nothing was sent. */
export class ReferenceUnprepared extends Error {
  constructor(cause: unknown) {
    super('A reference file could not be prepared.', { cause });
    this.name = 'ReferenceUnprepared';
  }
}

/**
 * The references of a submission, which record whether one of them could not be read completely, or had different
 * bytes when it was read again. The client does not receive the cause, so it is logged.
 */
export class WholeReferences {
  readonly references: readonly ProviderReference[];
  private cutBy: { readonly reason: unknown } | undefined;

  constructor(
    references: readonly ProviderReference[],
    private readonly about: { readonly instance: string; readonly log: Log },
  ) {
    this.references = references.map((reference) => {
      const content: Content = {};
      return { ...reference, open: async () => this.read(reference, content) };
    });
  }

  /**
   * The result of `send`, or the refusal of the task if a reference ended its request early, as no server takes half a
   * request, or if it could not be prepared. It holds only for the request itself: an answer that has started may be to
   * a task that was taken.
   */
  async sent<T>(send: Promise<T>, signal: { readonly aborted: boolean }): Promise<T | typeof REFERENCE_UNREAD> {
    try {
      return await send;
    } catch (error) {
      const isUnprepared = error instanceof ReferenceUnprepared;
      if (!isUnprepared && (this.cutBy === undefined || signal.aborted)) throw error;
      if (!signal.aborted) this.tell(this.cutBy?.reason ?? (error as Error).cause);
      return REFERENCE_UNREAD;
    }
  }

  private tell(error: unknown): void {
    const reason = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, 200);
    this.about.log.warn('reference file not read', { provider: this.about.instance, reason });
  }

  /** Keeps each piece back until the next one or the end has come: what breaks after its last byte is not given whole. */
  private async *read(reference: ProviderReference, content: Content): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    let byteLength = 0;
    let kept: Uint8Array | undefined;
    try {
      for await (const piece of await reference.open()) {
        if (kept !== undefined) yield kept;
        kept = piece;
        hash.update(piece);
        byteLength += piece.byteLength;
        if (byteLength > reference.byteSize) throw new Error('A reference has more bytes than it should have.');
      }
      if (byteLength < reference.byteSize) throw new Error('A reference has fewer bytes than it should have.');
      const digest = hash.digest('hex');
      content.digest ??= digest;
      if (content.digest !== digest) throw new Error('A reference has other bytes than when it was read before.');
    } catch (error) {
      this.cutBy = { reason: error };
      throw error;
    }
    if (kept !== undefined) yield kept;
  }
}

/** A reference file could not be read as it should be, so that the request ended early and nothing was taken. */
export const REFERENCE_UNREAD = {
  accepted: false,
  failure: { ...failure('unreachable'), message: 'A reference file could not be fetched.' },
} as const satisfies SubmitAnswer;
