import type { ProviderReference, SubmitAnswer } from '../../../core/ports/provider.js';
import { failure } from './sentences.js';

/** The references of a submission, which note whether one of them could not be read to its end. */
export class WholeReferences {
  readonly references: readonly ProviderReference[];
  private isCut = false;

  constructor(references: readonly ProviderReference[]) {
    this.references = references.map((reference) => ({ ...reference, open: async () => this.read(reference) }));
  }

  /**
   * What `send` resolves with, or the refusal of the task where a reference ended its request early. For servers that
   * take no half request.
   */
  async sent<T>(send: Promise<T>, signal: { readonly aborted: boolean }): Promise<T | typeof REFERENCE_UNREAD> {
    try {
      return await send;
    } catch (error) {
      if (this.isCut && !signal.aborted) return REFERENCE_UNREAD;
      throw error;
    }
  }

  private async *read(reference: ProviderReference): AsyncGenerator<Uint8Array> {
    let byteLength = 0;
    try {
      for await (const piece of await reference.open()) {
        byteLength += piece.byteLength;
        yield piece;
      }
    } catch (error) {
      this.isCut = true;
      throw error;
    }
    if (byteLength !== reference.byteSize) this.isCut = true;
  }
}

/** A reference file could not be read, so that the request ended early and nothing was taken. */
export const REFERENCE_UNREAD = {
  accepted: false,
  failure: { ...failure('unreachable'), message: 'A reference file could not be fetched.' },
} as const satisfies SubmitAnswer;
