import { Document, isCollection, isNode, isScalar, isSeq, type Node, parseDocument, visit } from 'yaml';
import { assert } from '../../core/assert.js';
import type { Json, JsonObject } from '../../core/json.js';

// Changes of YAML that people write, as text: comments and formatting stay as they are.

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
  return withLines(text, lineEnd(text, end), indentOf(text, start), [line]);
}

/**
 * The text with only those entries of the block mapping or list at `path` whose key or index is kept. Comments right above
 * an entry belong to it, and so do those below it that are indented further than it.
 */
export function withEntries(text: string, path: YamlPath, isKept: (entry: string | number) => boolean): string {
  const { entries, end } = entriesOf(text, path);
  const kept = entries.filter(({ name }) => isKept(name));
  const pieces = kept.map((entry) => text.slice(entry.start, entries[entries.indexOf(entry) + 1]?.start ?? end));
  const [first = '', ...others] = pieces;
  const tail = text.slice(end);
  return `${text.slice(0, entries[0]?.start ?? end)}${[first.replace(/^\s*\n/, ''), ...others].join('')}${tail}`;
}

/** Whether the collection at `path` is written in brackets or braces. */
export function isFlow(text: string, path: YamlPath): boolean {
  const node = nodeAt(text, path);
  return isCollection(node) && node.flow === true;
}

/** An entry of a mapping, which has a name, or of a list. */
export interface NewEntry {
  readonly name?: string;
  /** For a collection in flow style. */
  readonly value: Json;
  /** The value as lines of block YAML. For an entry of a mapping, the first line begins with its name. */
  readonly lines: readonly string[];
  /** Comments above it. */
  readonly comments?: readonly string[];
}

/**
 * The text with one more entry at the end of the mapping or list at `path`: the whole document where that is empty. A value
 * there may be null or empty. Entries of a list are a blank line apart.
 */
export function withEntry(text: string, path: YamlPath, entry: NewEntry): string {
  const node = path.length === 0 ? parseDocument(text).contents : nodeAt(text, path);
  if (node === null) return withLines(text, text.length, 0, blockOf(entry));
  const [start, end] = rangeOf(node);
  if (isCollection(node) && node.items.length > 0) {
    if (node.flow === true) return withFlowEntry(text, node, entry);
    const last = text.slice(0, itemEnd(text, node));
    const lines = blockOf(entry);
    return withLines(text, last.length, columnOf(text, node.items.at(-1)), isSeq(node) ? ['', ...lines] : lines);
  }
  assert(isCollection(node) || (isScalar(node) && node.value === null), 'only collections take entries');
  const emptied = `${text.slice(0, start)}${text.slice(end)}`;
  const indent = indentOf(text, start) + (path.length === 0 ? 0 : 2);
  return withLines(emptied, lineEnd(emptied, start), indent, blockOf(entry));
}

/** Values of this depth are written in one line, if they fit. */
const MAX_FLOW_DEPTH = 2;
const MAX_FLOW_CHARACTERS = 110;

/** A value as lines of block YAML; small parts of it are in one line each, if it is to be compact. */
export function yamlLines(value: JsonObject, isCompact = true): readonly string[] {
  // Each place has its own values: an edit of one must not change another.
  const document = new Document(value, { version: '1.2', aliasDuplicateObjects: false });
  visit(document, {
    Collection: (key, node) => {
      const json = node.toJSON() as Json;
      const isSmall = depthOf(json) <= MAX_FLOW_DEPTH && JSON.stringify(json).length <= MAX_FLOW_CHARACTERS;
      if (isCompact && key !== null && (isSmall || isListOfScalars(json)) && !isMapOfMaps(json)) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0 }).trimEnd().split('\n');
}

/** A text as YAML: with quotes unless it is plainly an address or a path. */
export function yamlText(text: string): string {
  return /^(?:https?:\/\/|\.{0,2}\/)[\w./~:-]*[\w/]$/.test(text) ? text : JSON.stringify(text);
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function isListOfScalars(value: Json): boolean {
  return Array.isArray(value) && depthOf(value) <= 1;
}

/** Such as properties and fields: one line for each is easier to read. */
function isMapOfMaps(value: Json): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const members = Object.values(value);
  return members.length > 0 && members.every((member) => depthOf(member) > 0 && !Array.isArray(member));
}

function blockOf({ name, lines, comments = [] }: NewEntry): readonly string[] {
  const marked = name === undefined ? lines.map((line, index) => `${index === 0 ? '- ' : '  '}${line}`) : lines;
  return [...comments.map((comment) => `# ${comment}`), ...marked];
}

/** Inserts whole lines at the end of a line, or of the text. */
function withLines(text: string, at: number, indent: number, lines: readonly string[]): string {
  const newLine = text.includes('\r\n') ? '\r\n' : '\n';
  const before = text.slice(0, at);
  const gap = before === '' || before.endsWith('\n') ? '' : newLine;
  const indented = lines.map((line) => (line.trim() === '' ? '' : `${' '.repeat(indent)}${line}`) + newLine);
  return `${before}${gap}${indented.join('')}${text.slice(at)}`;
}

function withFlowEntry(text: string, node: Node, { name, value }: NewEntry): string {
  assert(isCollection(node), 'flow style is of collections');
  const last = node.items.at(-1);
  const lastNode = isNode(last)
    ? last
    : ((last as { readonly value?: unknown }).value ?? (last as { readonly key: unknown }).key);
  const end = rangeOf(lastNode)[1];
  const named = name === undefined ? '' : `${JSON.stringify(name)}: `;
  return `${text.slice(0, end)}, ${named}${JSON.stringify(value)}${text.slice(end)}`;
}

interface Entry {
  readonly name: string | number;
  /** The start of the line of its first comment, or of its own line. */
  readonly start: number;
}

function entriesOf(text: string, path: YamlPath): { readonly entries: readonly Entry[]; readonly end: number } {
  const collection = nodeAt(text, path);
  assert(isCollection(collection) && collection.flow !== true, 'only block collections have entries with lines');
  return {
    end: itemEnd(text, collection),
    entries: collection.items.map((item, index) => ({
      name: isSeq(collection) ? index : nameOf((item as { readonly key: unknown }).key),
      start: startWithComments(text, startOf(text, item)),
    })),
  };
}

function nameOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : '';
}

/** The offset of an entry's first character: its key, or the dash of a list. */
function startOf(text: string, item: unknown): number {
  if (!isNode(item)) return rangeOf((item as { readonly key: unknown }).key)[0];
  const before = text.slice(0, rangeOf(item)[0]);
  const dash = /-\s*(?:#.*\s*)?(?:[&!]\S+\s+)*$/.exec(before);
  return dash?.index ?? before.length;
}

function columnOf(text: string, item: unknown): number {
  const start = startOf(text, item);
  return start - startOfLine(text, start);
}

/**
 * The end of the last entry of a block collection, with the comments below that are indented further than the entry: the
 * start of a line, or the end of the text.
 */
function itemEnd(text: string, collection: Node): number {
  assert(isCollection(collection), 'only collections have entries');
  const item = collection.items.at(-1);
  let last = 0;
  const note = (_: unknown, node: Node) => {
    last = Math.max(last, rangeOf(node)[1]);
  };
  visit(collection, {
    Scalar: note,
    Alias: note,
    Collection: (key, node) => (node.flow === true ? note(key, node) : undefined),
  });
  const column = columnOf(text, item);
  let end = lineEnd(text, last);
  for (let at = end; at < text.length;) {
    const next = nextLine(text, at);
    const line = text.slice(at, next);
    if (line.trim() !== '') {
      if (!line.trimStart().startsWith('#') || indentOf(text, at) <= column) break;
      end = next;
    }
    at = next;
  }
  return end;
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

/** The end of the line that a value ends in. A block of text ends behind its last line break. */
function lineEnd(text: string, offset: number): number {
  return offset > 0 && text[offset - 1] === '\n' ? offset : nextLine(text, offset);
}

function nextLine(text: string, offset: number): number {
  const at = text.indexOf('\n', offset);
  return at < 0 ? text.length : at + 1;
}

function indentOf(text: string, offset: number): number {
  return /^ */.exec(text.slice(startOfLine(text, offset)))?.[0].length ?? 0;
}

/** Comments and blank lines above an entry, up to one that is indented further: that belongs to the entry before. */
function startWithComments(text: string, offset: number): number {
  let start = startOfLine(text, offset);
  const column = offset - start;
  while (start > 0) {
    const before = startOfLine(text, start - 1);
    const line = text.slice(before, start);
    if (!/^(?:#.*)?$/.test(line.trim()) || (line.trim() !== '' && indentOf(text, before) > column)) break;
    start = before;
  }
  return start;
}
