export type MediaFacts =
  | { readonly kind: 'image'; readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp'; readonly widthPx: number; readonly heightPx: number }
  | { readonly kind: 'video'; readonly mediaType: 'video/mp4'; readonly widthPx: number; readonly heightPx: number; readonly durationMs: number };

export interface ProbeLimits {
  /** Memory of this size is set aside for the bytes: give their number where it is known. */
  readonly maxBytes: number;
  /** Of all frames together. */
  readonly maxPixels: number;
  /** Of memory that decoding an image may take, as its header promises; no limit when absent. */
  readonly maxDecodeBytes?: number;
  readonly decode: 'header' | 'full';
  /** What is meant, so that a refusal names no other. */
  readonly kind?: 'image' | 'video';
}

/** Looks at bytes and says what they are, trusting neither their name nor their declared type. */
export interface MediaProbe {
  /**
   * Sniffs the magic bytes and decodes the header (an output's pixels too, when `decode` is `full`). Anything that is not
   * exactly one PNG, JPEG, WebP or MP4 within the limits is answered with one sentence on what is wrong; this never throws
   * for bad bytes. It waits while other work holds the memory it needs.
   */
  probe(bytes: AsyncIterable<Uint8Array>, limits: ProbeLimits): Promise<MediaFacts | { readonly invalid: string }>;
}
