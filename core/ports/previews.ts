import type { AiMark } from '../media/ai-mark.js';
import type { Waits } from '../memory-budget.js';

export interface Preview {
  readonly mediaType: 'image/jpeg';
  readonly bytes: Uint8Array;
}

/** Makes small pictures of large ones. */
export interface Previews {
  /**
   * A small picture of `maxBytes` at most, upright as browsers show it, in sRGB, without the metadata of the original and with
   * the mark if there is one, from the bytes of a PNG, JPEG or WebP image. Null for other bytes, for a picture that takes too much
   * memory to decode, where no small picture is small enough, and while too many others wait. It waits while other work has
   * the memory that it needs, and throws `CallOver` when the call is over by then. A failure of the source of the bytes is
   * passed on.
   */
  ofImage(
    bytes: AsyncIterable<Uint8Array>,
    limits: { readonly sourceBytes: number; readonly maxBytes: number; readonly mark?: AiMark },
    waits?: Waits,
  ): Promise<Preview | null>;
}
