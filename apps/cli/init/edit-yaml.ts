import { isMap, isNode, isScalar, isSeq, parseDocument, type Node } from 'yaml';
import { assert } from '../../../core/assert.js';

/** A key or an index at each level, from the top of a document. */
export type YamlPath = readonly (string | number)[];

/** The text with another value at `path`, which must have one; all else stays as it was written. `value` is YAML. */
export function withValue(text: string, path: YamlPath, value: string): string {
  const [start, end] = rangeOf(nodeAt(text, path));
  return `${text.slice(0, start)}${value}${text.slice(end)}`;
}

/** The text with one more line below the one of the value at `path`, as deep as its key. */
export function withLineAfter(text: string, path: YamlPath, line: string): string {
  const [start, end] = rangeOf(nodeAt(text, path));
  const [indent = ''] = /^ */.exec(text.slice(startOfLine(text, start))) ?? [];
  const endOfLine = text.indexOf('\n', end);
  assert(endOfLine >= 0, 'the line has an end');
  return `${text.slice(0, endOfLine + 1)}${indent}${line}\n${text.slice(endOfLine + 1)}`;
}

/**
 * The text with only those entries of the block mapping or list at `path` whose key or index is kept. Comments right above
 * an entry belong to it.
 */
export function withEntries(text: string, path: YamlPath, isKept: (entry: string | number) => boolean): string {
  const { entries, end } = entriesOf(text, path);
  const kept = entries.filter(({ name }) => isKept(name));
  const pieces = kept.map((entry) => text.slice(entry.start, entries[entries.indexOf(entry) + 1]?.start ?? end));
  const [first = '', ...others] = pieces;
  const tail = text.slice(end);
  return `${text.slice(0, entries[0]?.start ?? end)}${[first.replace(/^\s*\n/, ''), ...others].join('')}${tail}`;
}

/** A text as YAML: with quotes unless it is plainly an address or a path. */
export function yamlText(text: string): string {
  return /^(?:https?:\/\/|\.{0,2}\/)[\w./~:-]*[\w/]$/.test(text) ? text : JSON.stringify(text);
}

interface Entry {
  readonly name: string | number;
  /** Where the line of its first comment begins, or its own. */
  readonly start: number;
}

function entriesOf(text: string, path: YamlPath): { readonly entries: readonly Entry[]; readonly end: number } {
  const collection = nodeAt(text, path);
  const [, , end] = rangeOf(collection);
  const named: (readonly [string | number, unknown])[] = isMap(collection)
    ? collection.items.map(({ key }) => [isScalar(key) ? String(key.value) : '', key])
    : isSeq(collection)
      ? collection.items.map((item, index) => [index, item])
      : [];
  return { end, entries: named.map(([name, node]) => ({ name, start: startWithComments(text, rangeOf(node)[0]) })) };
}

function nodeAt(text: string, path: YamlPath): Node {
  const node = parseDocument(text).getIn(path, true);
  assert(isNode(node), `there is a value at ${path.join('.')}`);
  return node;
}

function rangeOf(node: unknown): readonly [start: number, valueEnd: number, nodeEnd: number] {
  assert(isNode(node) && node.range !== undefined && node.range !== null, 'a value that was read has a place');
  return node.range;
}

function startOfLine(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

function startWithComments(text: string, offset: number): number {
  let start = startOfLine(text, offset);
  while (start > 0) {
    const before = startOfLine(text, start - 1);
    if (!/^\s*(?:#.*)?\n$/.test(text.slice(before, start))) break;
    start = before;
  }
  return start;
}
