/** One step over a file, in the order of its bytes. */
export type Edit =
  /** Waits for so many of the next bytes, and consumes none. Fewer come at the end of the file. */
  | { readonly do: 'look'; readonly byteCount: number }
  /** Passes the next bytes on: unchanged, not at all, or as zeros. Ends early at the end of the file. */
  | { readonly do: 'keep' | 'remove' | 'blank'; readonly byteCount: number }
  | { readonly do: 'insert'; readonly bytes: Uint8Array };

/**
 * The edits of one file, made as it is read. The answer to a `look` is the next bytes: so many as it asked for, or more
 * where they are at hand. Where the edits end, the rest of the file is kept.
 */
export type Edits = Generator<Edit, void, Buffer>;

export const look = (byteCount: number): Edit => ({ do: 'look', byteCount });
export const keep = (byteCount: number): Edit => ({ do: 'keep', byteCount });
export const remove = (byteCount: number): Edit => ({ do: 'remove', byteCount });
export const blank = (byteCount: number): Edit => ({ do: 'blank', byteCount });
export const insert = (bytes: Uint8Array): Edit => ({ do: 'insert', bytes });

/** Writes `bytes` over as many of the file, which stays as long as it is. */
export function* overwrite(bytes: Uint8Array): Edits {
  const { length } = yield look(bytes.byteLength);
  yield insert(bytes.subarray(0, length));
  yield remove(bytes.byteLength);
}
