/**
 * Goal: no link of the documentation leads nowhere.
 * Method: follow every relative link of every page to its file, and every anchor to its heading.
 */
import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { join } from 'node:path/posix';
import { allPages, linksOf, type Page, ROOT, targetOf } from './pages.js';

const pages = allPages();

describe('links of the documentation', () => {
  for (const page of pages) {
    it(`${page.path} leads to files and headings that are there`, () => {
      expect(linksOf(page).filter((link) => !leadsSomewhere(page, link))).to.deep.equal([]);
    });
  }

  it('reach every page of docs/ from README.md', () => {
    const reached = new Set(['README.md']);
    for (const path of reached) {
      const page = pages.find((known) => known.path === path);
      for (const link of page ? linksOf(page) : []) reached.add(targetOf(page as Page, link).path);
    }
    expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).to.deep.equal([]);
  });
});

function leadsSomewhere(page: Page, link: string): boolean {
  const { path, anchor } = targetOf(page, link);
  if (!existsSync(join(ROOT, path))) return false;
  if (anchor === undefined) return true;
  return pages.some((known) => known.path === path && known.headings.some((heading) => heading.anchor === anchor));
}
