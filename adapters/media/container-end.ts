/** What a walk over a file's structure found. */
export type ContainerEnd =
  /** The file's own structure ends after `byteSize` bytes; `frames` is 1 where the walk does not count them. */
  | { readonly complete: true; readonly byteSize: number; readonly frames: number }
  /** The structure is incomplete or invalid, or makes a decoder do too much; the sentence says which. */
  | { readonly complete: false; readonly invalid: string };

export const BROKEN: ContainerEnd = { complete: false, invalid: 'The file is damaged or incomplete.' };

/** The bytes as a Buffer over the same memory, for its readers of numbers and names. */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
