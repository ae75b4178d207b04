/**
 * A language's toolchain, or what its client is built with, is not on this machine; the message is a sentence with the
 * way out.
 */
export class ClientAbsent extends Error {}

/** What a client is run with. */
export interface BuiltClient {
  readonly command: string;
  readonly args: readonly string[];
  remove(): void;
}

/** A client in another language, whose types are generated from the proto files. */
export interface ForeignClient {
  readonly language: string;
  /**
   * Gets what a build needs from the language's package registry, once a machine. Throws `ClientAbsent` without the
   * toolchain, and any other error when the registry did not give it.
   */
  install(): Promise<void>;
  /**
   * Generates and builds without a network. Throws `ClientAbsent`, and any other error when what is generated does not
   * build.
   */
  build(): Promise<BuiltClient>;
}
