import type * as Ajv from 'ajv/dist/2020.js';
import { createRequire } from 'node:module';
import type * as Undici from 'undici';
import type * as Yaml from 'yaml';

const require = createRequire(import.meta.url);

/**
 * A CommonJS package that is loaded when it is first asked for. To load one takes up to 150 milliseconds, and most commands
 * and starts need only some of them.
 */
export function lazyPackage<T>(name: string): () => T {
  return () => require(name) as T;
}

/** Client commands check no schema. */
export const ajv = lazyPackage<typeof Ajv>('ajv/dist/2020.js');
/** A service sends its first request when there is something to send. */
export const undici = lazyPackage<typeof Undici>('undici');
/** Client commands read no file. */
export const yaml = lazyPackage<typeof Yaml>('yaml');
