import { DAMAGED } from './probe-limits.js';

/** The result of a walk over a picture's structure. */
export type ContainerEnd =
  | {
      readonly complete: true;
      /** The offset at which the picture ends. Bytes after it are not part of the picture. */
      readonly byteSize: number;
      /** 1 where the walk does not count them. */
      readonly frames: number;
      /** Whether a browser swaps width and height, by the orientation that the file states. */
      readonly isTurned: boolean;
    }
  /** The structure is incomplete or invalid, or no decoder should read it; the sentence says which. */
  | { readonly complete: false; readonly invalid: string };

export const BROKEN: ContainerEnd = { complete: false, ...DAMAGED };

/** The bytes as a Buffer over the same memory, for its readers of numbers and names. */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
