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

/** A suite over adapters that are opened before each test and closed after it; `opened` returns the present one. */
export function contract<Port, Supports extends object>(
  name: string,
  subject: ContractSubject<Port, Supports>,
  suite: (opened: () => Port) => void,
): void {
  describe(`${name}: ${subject.name}`, () => {
    let port: Port;
    beforeEach(async () => {
      port = await subject.open();
    });
    afterEach(async () => subject.close(port));
    suite(() => port);
  });
}

/** Whether a call was refused, which a store does by rejecting it. */
export function isRefused(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => false,
    () => true,
  );
}
