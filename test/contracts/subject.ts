/** One adapter under a port's contract: how to open a fresh one, how to close it, and its capabilities. */
export interface ContractSubject<Port, Supports extends object = Record<string, never>> {
  /** Names the adapter in the test report. */
  readonly name: string;
  /** A fresh, empty one. */
  open(): Promise<Port>;
  /** Releases what `open` took. */
  close(port: Port): Promise<void>;
  readonly supports: Supports;
}
