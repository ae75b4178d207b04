/** The keys and indexes that lead to a value. */
export type JsonPath = readonly (string | number)[];

/**
 * Places in a JSON document, as JSON Pointers (RFC 6901) in which a part `*` stands for any one key or index:
 * `/images/*`.
 */
export class PointerPatterns {
  private readonly patterns: readonly (readonly string[])[];

  /** Throws a `RangeError` for a pattern that is no pointer. */
  constructor(patterns: readonly string[]) {
    this.patterns = patterns.map(partsOf);
  }

  matches(path: JsonPath): boolean {
    return this.patterns.some(
      (parts) =>
        parts.length === path.length && parts.every((part, index) => part === '*' || part === String(path[index])),
    );
  }
}

/** The keys and indexes of a pointer, each as a text. */
export function pathOf(pointer: string): JsonPath {
  return partsOf(pointer);
}

/** The pointer to a value. */
export function pointerTo(path: JsonPath): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function partsOf(pattern: string): readonly string[] {
  if (!/^(?:\/(?:[^~]|~[01])*)*$/.test(pattern)) throw new RangeError(`${pattern} is no JSON Pointer.`);
  return pattern
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}
