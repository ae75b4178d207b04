import type { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Calls `serve`, which runs within a context of `storage`, and disables the storage when the last call in progress has ended.
 * Before Node 24, once a storage has been used, Node tracks every promise of the process until the storage is disabled: a
 * status request then takes a fifth more CPU. A disabled storage works again when it is used.
 */
export function disabledWhenIdle<A extends readonly unknown[]>(
  storage: Pick<AsyncLocalStorage<unknown>, 'disable'>,
  serve: (...given: A) => Promise<void>,
): (...given: A) => Promise<void> {
  return async (...given) => {
    IN_PROGRESS.set(storage, (IN_PROGRESS.get(storage) ?? 0) + 1);
    try {
      await serve(...given);
    } finally {
      const left = (IN_PROGRESS.get(storage) ?? 0) - 1;
      IN_PROGRESS.set(storage, left);
      if (left === 0) storage.disable();
    }
  };
}

/** Calls in progress by storage: the library has one for all servers of a process. */
const IN_PROGRESS = new WeakMap<object, number>();
