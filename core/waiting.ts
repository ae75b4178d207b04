import type { Clock } from './ports/machine.js';

export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/**
 * Starts a read beside other work. A failure reaches only a caller that awaits it; without one it is not an unhandled
 * rejection.
 */
export function begun<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}

/** Lets others run in the middle of long work. */
export type Rest = () => Promise<void>;

const AT_ONCE = 500;

/** What a long loop gives, with a rest after every 500 items. */
export async function* resting<T>(items: Iterable<T>, rest: Rest): AsyncGenerator<T> {
  let left = AT_ONCE;
  for (const item of items) {
    yield item;
    left -= 1;
    if (left > 0) continue;
    await rest();
    left = AT_ONCE;
  }
}
