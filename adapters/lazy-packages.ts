import type * as Ajv from 'ajv/dist/2020.js';
import { createRequire } from 'node:module';
import type * as Undici from 'undici';
import type * as Yaml from 'yaml';

const require = createRequire(import.meta.url);

/**
 * Returns a function that loads a CommonJS package at its first call. Loading one takes up to 150 milliseconds, and most
 * commands and starts need only some of them.
 */
export function lazyPackage<T>(name: string): () => T {
  let loaded: T | undefined;
  return () => (loaded ??= require(name) as T);
}

/** Client commands check no schemas, so they do not load it. */
export const ajv = lazyPackage<typeof Ajv>('ajv/dist/2020.js');
/** The first outgoing request loads it, so a start does not. */
export const undici = lazyPackage<typeof Undici>('undici');
/** Client commands read no YAML, so they do not load it. */
export const yaml = lazyPackage<typeof Yaml>('yaml');
