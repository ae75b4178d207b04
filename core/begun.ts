/**
 * Starts a read beside other work. A failure reaches only a caller that awaits it; without one it is not an unhandled
 * rejection.
 */
export function begun<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}
