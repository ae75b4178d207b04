export interface Ids {
  /** A new UUIDv7, lower case; ids made later in one process sort later. */
  uuid(): string;

  /** Cryptographically random bytes, 1 to 1,024. */
  random(byteCount: number): Uint8Array;
}
