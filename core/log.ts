/** Receives events from core that are not returned to a caller. Implementations must not throw. */
export interface Log {
  info(event: string, about: Readonly<Record<string, unknown>>): void;
  /** A failure that recovery repeats, or that an operator should see. */
  warn(event: string, about: Readonly<Record<string, unknown>>): void;
}
