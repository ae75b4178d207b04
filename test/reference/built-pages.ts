import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../docs/pages.js';

const FOLDER = join(ROOT, 'dist/reference');

/** The pages that the build has made, by their address below `/docs`; `index` is `/docs` itself. */
export function builtPages(): ReadonlyMap<string, string> {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
  return new Map(
    files.map((name) => [name.replaceAll('\\', '/').replace(/\.html$/, ''), readFileSync(join(FOLDER, name), 'utf8')]),
  );
}

export interface ShownSample {
  readonly operationId: string;
  readonly language: string;
  readonly code: string;
}

/** The samples on a page, as they are copied from there. */
export function samplesOn(page: string): readonly ShownSample[] {
  return page
    .split('<section class="operation" id="')
    .slice(1)
    .flatMap((section) => {
      const operationId = section.slice(0, section.indexOf('"'));
      const found = section.matchAll(/<div class="of" data-language="(\w+)">\s*<div class="code">(.*?)<\/div>/gs);
      return [...found].map(([, language = '', block = '']) => ({ operationId, language, code: textOf(block) }));
    });
}

/** The text of markup. */
export function textOf(markup: string): string {
  return markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
