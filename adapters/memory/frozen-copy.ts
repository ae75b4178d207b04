const ownCopies = new WeakSet<object>();

/**
 * A deep-frozen copy, so that a store may keep it and hand the same object to every reader. Undefined properties are
 * left out, as in a store that keeps JSON. A part that is already such a copy is shared, not copied again: a change to
 * one field of a large record copies only what is new.
 */
export function frozenCopy<T>(value: T): T {
  return copyOf(value) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ownCopies.has(value)) return value;
  const copy: object = Array.isArray(value)
    ? value.map(copyOf)
    : Object.fromEntries(
        Object.entries(value)
          .filter(([, field]) => field !== undefined)
          .map(([name, field]) => [name, copyOf(field)]),
      );
  Object.freeze(copy);
  ownCopies.add(copy);
  return copy;
}
