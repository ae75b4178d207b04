/** Where core reports events that are no answer to a caller. Implementations must not throw. */
export interface Log {
  info(event: string, about: Readonly<Record<string, unknown>>): void;
  /** A failure that recovery repeats, or that an operator should see. */
  warn(event: string, about: Readonly<Record<string, unknown>>): void;
}
