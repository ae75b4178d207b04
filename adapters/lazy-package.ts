import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * A CommonJS package that is loaded when it is first asked for. To load one takes up to 150 milliseconds, and most commands
 * and starts need only some of them.
 */
export function lazyPackage<T>(name: string): () => T {
  return () => require(name) as T;
}
