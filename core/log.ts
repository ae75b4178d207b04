/** Where core reports what nobody is waiting to hear. Implementations must not throw. */
export interface Log {
  info(event: string, about: Readonly<Record<string, unknown>>): void;
  /** Something failed that recovery will do again, or an operator should see. */
  warn(event: string, about: Readonly<Record<string, unknown>>): void;
}
