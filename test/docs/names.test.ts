/**
 * Goal: whatever the documentation names is there. Method: look up every path and npm script that a page names, in
 * prose and in shell blocks, and parse every JSON block.
 */
import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allPages, codeSpans, ROOT, type Page } from './pages.js';

const FOLDERS = /^(?:core|adapters|apps|test|config|docs|bench|proto|deploy|clients)\/[\w./*-]*$/;
const ROOT_FILES =
  /^(?:README\.md|SECURITY\.md|CONTRIBUTING\.md|CHANGELOG\.md|LICENSE|NOTICE|package\.json|tsconfig\.json)$/;

/** Written when something is run, and not kept. */
const WRITTEN_LATER = ['bench/results.json'];

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

describe('names in the documentation', () => {
  for (const page of allPages()) {
    it(`${page.path} names only paths that exist`, () => {
      const paths = codeSpans(page).filter((span) => FOLDERS.test(span) || ROOT_FILES.test(span));
      expect(paths.filter((path) => !existsAs(path) && !WRITTEN_LATER.includes(path))).to.deep.equal([]);
    });

    it(`${page.path} names only npm scripts that exist`, () => {
      expect(npmScripts(page).filter((name) => !(name in scripts))).to.deep.equal([]);
    });

    it(`${page.path} shows only JSON that parses`, () => {
      const broken = page.blocks.filter(({ info }) => /^json\b/.test(info)).filter(({ text }) => !parses(text));
      expect(broken.map(({ line }) => `${page.path}:${line}`)).to.deep.equal([]);
    });
  }
});

/** A path with a star is there when the folder before the star is. */
function existsAs(path: string): boolean {
  return existsSync(join(ROOT, path.split('*')[0] ?? ''));
}

/** `npm run X`, and the two scripts that need no `run`. */
function npmScripts({ text }: Page): string[] {
  return [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map(([, named, short]) => named ?? short ?? '');
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
