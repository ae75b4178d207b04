/** One step over a file, in the order of its bytes. */
export type Edit =
  /** Waits for so many of the next bytes, and consumes none. Fewer come at the end of the file. */
  | { readonly do: 'look'; readonly byteCount: number }
  /**
   * Passes the next bytes on: unchanged, not at all, or as zeros. A file that ends before has no edits after this one.
   * What is kept of a manifest is searched for the words that say AI.
   */
  | { readonly do: 'keep' | 'keep manifest' | 'remove' | 'blank'; readonly byteCount: number }
  /**
   * Writes `bytes` in place of the next `byteCount`. Where the file ends within those, only as many are written, and there
   * are no edits after this one. What is written for the mark is not a change of the provider's file, and can be undone.
   */
  | { readonly do: 'replace'; readonly byteCount: number; readonly bytes: Uint8Array; readonly isForMark: boolean };

/**
 * The edits of one file, made as it is read. The answer to a `look` is the next bytes: so many as it asked for, or more
 * where they are at hand. Where the edits end, the rest of the file is kept.
 */
export type Edits<Result = void> = Generator<Edit, Result, Buffer>;

export const look = (byteCount: number): Edit => ({ do: 'look', byteCount });
export const keep = (byteCount: number): Edit => ({ do: 'keep', byteCount });
export const keepManifest = (byteCount: number): Edit => ({ do: 'keep manifest', byteCount });
export const remove = (byteCount: number): Edit => ({ do: 'remove', byteCount });
export const blank = (byteCount: number): Edit => ({ do: 'blank', byteCount });
export const insert = (bytes: Uint8Array): Edit => replace(0, bytes);
/** Writes `bytes` over as many of the file, which stays as long as it is. */
export const overwrite = (bytes: Uint8Array): Edit => replace(bytes.byteLength, bytes);
export const insertForMark = (bytes: Uint8Array): Edit => ({ ...replace(0, bytes), isForMark: true });
export const overwriteForMark = (bytes: Uint8Array): Edit => ({
  ...replace(bytes.byteLength, bytes),
  isForMark: true,
});

/** Removes all that follows the end of the content. */
export const removeRest = (): Edit => remove(Infinity);

export function replace(byteCount: number, bytes: Uint8Array): Extract<Edit, { do: 'replace' }> {
  return { do: 'replace', byteCount, bytes, isForMark: false };
}
