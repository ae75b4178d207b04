export type MediaFacts =
  | { readonly kind: 'image'; readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp'; readonly widthPx: number; readonly heightPx: number }
  | { readonly kind: 'video'; readonly mediaType: 'video/mp4'; readonly widthPx: number; readonly heightPx: number; readonly durationMs: number };

/** Looks at bytes and says what they are, trusting neither their name nor their declared type. */
export interface MediaProbe {
  /**
   * Sniffs the magic bytes and decodes the header (an output's pixels too, when `decode` is `full`). Anything that is not
   * exactly one PNG, JPEG, WebP or MP4 within the limits is answered with one sentence on what is wrong; this never throws
   * for bad bytes. `kind`, when given, is what is meant, so that the sentence names no other.
   */
  probe(bytes: AsyncIterable<Uint8Array>, limits: { readonly maxBytes: number; readonly maxPixels: number; readonly decode: 'header' | 'full'; readonly kind?: 'image' | 'video' }): Promise<MediaFacts | { readonly invalid: string }>;
}
