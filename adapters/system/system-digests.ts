import canonicalize from 'canonicalize';
import { createHash, createHmac, hash } from 'node:crypto';
import type { Json } from '../../core/json.js';
import type { Digests } from '../../core/ports/machine.js';

/** The length of the digest itself: a shorter key would be the weakest part. */
const MIN_SECRET_BYTES = 32;

/** SHA-256 throughout; RFC 8785 for canonical JSON; HMAC for the keyed digest. */
export class SystemDigests implements Digests {
  readonly #secret: Uint8Array;

  /** `secret` is at least 32 bytes, and the same in every process that shares a store. */
  constructor(options: { readonly secret: Uint8Array }) {
    if (options.secret.byteLength < MIN_SECRET_BYTES) {
      throw new RangeError(`The secret of keyed digests must have at least ${MIN_SECRET_BYTES} bytes.`);
    }
    this.#secret = Uint8Array.from(options.secret);
  }

  /** Throws for what canonical JSON has no form for: a number that is not finite, a lone surrogate. */
  ofJson(value: Json): string {
    const canonical = canonicalize(value);
    if (canonical === undefined) throw new TypeError('Only a JSON value has a canonical form.');
    return hash('sha256', canonical, 'hex');
  }

  keyed(text: string): string {
    return createHmac('sha256', this.#secret).update(text, 'utf8').digest('hex');
  }

  async ofBytes(bytes: AsyncIterable<Uint8Array>): Promise<{ readonly sha256: string; readonly byteSize: number }> {
    const digest = createHash('sha256');
    let byteSize = 0;
    for await (const chunk of bytes) {
      digest.update(chunk);
      byteSize += chunk.byteLength;
    }
    return { sha256: digest.digest('hex'), byteSize };
  }
}
