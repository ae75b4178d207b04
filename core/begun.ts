/** A read that goes on beside other work and may never be waited for: its failure is told to whoever waits, and to nobody else. */
export function begun<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}
