import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from '../docs/pages.js';

/** Any content of a YAML or JSON file. */
export type Tree = string | number | boolean | null | readonly Tree[] | { readonly [name: string]: Tree };

export function pathOf(path: string): string {
  return join(ROOT, path);
}

export function textOf(path: string): string {
  return readFileSync(pathOf(path), 'utf8');
}

/** A YAML file with its merge keys resolved, as compose reads it. */
export function yamlOf<T>(path: string): T {
  return parse(textOf(path), { merge: true }) as T;
}

/** Every document of a file with several documents. */
export function documentsOf<T>(text: string): T[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as T)
    .filter((document) => document !== null);
}

/** Every string of a tree, at any depth. */
export function stringsIn(tree: Tree): string[] {
  if (typeof tree === 'string') return [tree];
  return tree === null || typeof tree !== 'object' ? [] : Object.values(tree).flatMap(stringsIn);
}

/** Whether an image has a version tag with at least two numbers, or a digest. */
export function isPinned(image: string): boolean {
  return /@sha256:[0-9a-f]{64}$/.test(image) || /:v?\d+\.\d+(?:\.\d+)?(?:-[\w.-]+)?$/.test(image);
}
