import type { Premises, Watcher } from './observed.js';

/** Who watches every run. */
export function watch(_premises: Premises): Watcher {
  return new Proxy({} as Watcher, { get: () => () => Promise.resolve() });
}
