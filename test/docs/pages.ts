import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's own folder: this file runs as dist/test/docs/pages.js. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface CodeBlock {
  /** The info string after the opening fence: a language, and for an example the file it shows. */
  readonly info: string;
  readonly text: string;
  /** The line of the opening fence, counted from 1. */
  readonly line: number;
}

export interface Page {
  /** The path relative to the project's folder, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** The text with code blocks and comments blanked, line for line. */
  readonly prose: string;
  readonly blocks: readonly CodeBlock[];
  readonly headings: readonly { readonly level: number; readonly text: string; readonly anchor: string }[];
}

/** Every Markdown page of the project. */
export function allPages(): Page[] {
  return [...pagesIn('.'), ...pagesUnder('docs'), ...pagesIn('clients/typescript'), ...pagesIn('clients/python')];
}

/** The Markdown pages in a folder and its subfolders, except hidden ones and those of packages. */
export function pagesUnder(folder: string): Page[] {
  const below = readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .flatMap((entry) => pagesUnder(`${folder}/${entry.name}`));
  return [...pagesIn(folder), ...below];
}

function pagesIn(folder: string): Page[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => readPage(relative(ROOT, join(ROOT, folder, name)).replaceAll('\\', '/')));
}

export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const { prose, blocks } = splitCode(text);
  return { path, text, prose, blocks, headings: headingsOf(prose) };
}

function splitCode(text: string): { prose: string; blocks: CodeBlock[] } {
  const blocks: CodeBlock[] = [];
  const prose: string[] = [];
  let open: { info: string; fence: string; line: number; lines: string[] } | undefined;
  text.split('\n').forEach((line, index) => {
    const fence = /^\s*(`{3,})(.*)$/.exec(line);
    if (open) {
      if (fence?.[1] === open.fence && fence[2] === '') {
        blocks.push({ info: open.info, text: open.lines.join('\n'), line: open.line });
        open = undefined;
      } else {
        open.lines.push(line);
      }
    } else if (fence) {
      open = { info: (fence[2] ?? '').trim(), fence: fence[1] ?? '', line: index + 1, lines: [] };
    }
    prose.push(open || fence ? '' : line);
  });
  if (open) throw new Error(`The code block that opens in line ${open.line} is never closed.`);
  return { prose: prose.join('\n'), blocks };
}

function headingsOf(prose: string): Page['headings'] {
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^(#{1,6}) +(.+?) *$/gm)].map(([, marks = '', text = '']) => {
    const anchor = anchorOf(text);
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return { level: marks.length, text, anchor: times === 0 ? anchor : `${anchor}-${times}` };
  });
}

/** The anchor GitHub gives a heading: lower case, without punctuation, spaces as hyphens. */
function anchorOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Everything in backticks outside of code blocks. */
export function codeSpans(page: Page): string[] {
  return [...page.prose.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, span = '']) => span);
}

/** The relative links of a page only, because other sites are outside our control. */
export function linksOf(page: Page): string[] {
  return [...page.prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** The file that a link leads to, relative to the project's folder, and its anchor. */
export function targetOf(page: Page, link: string): { path: string; anchor: string | undefined } {
  const [path = '', anchor] = link.split('#');
  return { path: path === '' ? page.path : posix.normalize(posix.join(posix.dirname(page.path), path)), anchor };
}

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The tables of a page, cells trimmed. */
export function tablesOf(page: Page): Table[] {
  return page.prose.split(/\n(?!\|)/).flatMap((part) => {
    const lines = part
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map(cellsOf);
    const [columns, dashes, ...rows] = lines;
    return columns && dashes?.every((cell) => /^:?-+:?$/.test(cell)) ? [{ columns, rows }] : [];
  });
}

function cellsOf(line: string): string[] {
  return line
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim());
}

/** The text of a cell, without backticks. */
export function plain(cell: string | undefined): string {
  return (cell ?? '').replaceAll('`', '');
}
