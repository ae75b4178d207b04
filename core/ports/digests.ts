import type { Json } from '../json.js';

export interface Digests {
  /** SHA-256 of the value's canonical JSON (RFC 8785), lower-case hex. */
  ofJson(value: Json): string;

  /** Keyed SHA-256 of the text under the installation's secret, lower-case hex: stored instead of an API key. */
  keyed(text: string): string;

  /** SHA-256 of the bytes, lower-case hex, and their count. */
  ofBytes(bytes: AsyncIterable<Uint8Array>): Promise<{ readonly sha256: string; readonly byteSize: number }>;
}
