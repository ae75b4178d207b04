/**
 * Goal: all links of the documentation site work, including links to files outside the site.
 * Method: stage the real pages with and without a repository address and read their links; give the check of the built
 * site a small site with dead links.
 */
import { expect } from 'chai';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './pages.js';

interface Site {
  readonly stagePages: (
    root: string,
    folder: string,
    site: { readonly repository?: string; readonly base: string },
  ) => Promise<void>;
  readonly deadLinks: (folder: string, base: string) => string[];
}

const REPOSITORY = 'https://forge.example/studio/darkroom';

describe('the documentation site', () => {
  let site: Site;
  let folder: string;
  before(async () => {
    const load = async (name: string): Promise<object> =>
      (await import(pathToFileURL(join(ROOT, 'site', name)).href)) as object;
    site = { ...(await load('pages.mjs')), ...(await load('dead-links.mjs')) } as Site;
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-site-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** The relative links of every staged page that lead to no staged file. */
  function linksToNothing(): string[] {
    const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
    expect(pages).to.include.members(['index.md', 'overview.md', 'operating/start.md', 'reference/grpc.md']);
    return pages.flatMap((page) =>
      [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\((\.[^)#\s]*)[^)]*\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(folder, posix.dirname(page), target)))
        .map((target) => `${page}: ${target}`),
    );
  }

  it('links files outside the site to the repository that package.json names', async () => {
    await site.stagePages(ROOT, folder, { repository: REPOSITORY, base: '/' });
    expect(linksToNothing()).to.deep.equal([]);
    expect(readFileSync(join(folder, 'overview.md'), 'utf8')).to.include(`](${REPOSITORY}/blob/HEAD/LICENSE)`);
  });

  it('has no link for them where package.json names no repository', async () => {
    await site.stagePages(ROOT, folder, { base: '/' });
    expect(linksToNothing()).to.deep.equal([]);
    expect(readFileSync(join(folder, 'overview.md'), 'utf8')).to.not.match(/\]\([^)]*LICENSE\)/);
  });

  it('has the reference of the REST API, with links to its own pages and those of the site', async () => {
    await site.stagePages(ROOT, folder, { base: '/' });
    const reference = join(folder, 'public/reference/rest');
    const pages = readdirSync(reference).filter((name) => name.endsWith('.html'));
    expect(pages).to.include.members(['index.html', 'errors.html', 'generations.html', 'openai.html']);
    const missing = pages.flatMap((page) =>
      [...readFileSync(join(reference, page), 'utf8').matchAll(/(?:href|src)="((?!data:)[^"#]+)[^"]*"/g)]
        .map(([, target = '']) => posix.join('reference/rest', target))
        .filter(
          (path) => ![join('public', path), path.replace(/\.html$/, '.md')].some((at) => existsSync(join(folder, at))),
        )
        .map((path) => `${page}: ${path}`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('reports links to pages and headings that are not there', () => {
    const anchors = '<a href="/base/#there"></a><a href="#gone"></a><a href="/base/b.html#there"></a>';
    writeFileSync(
      join(folder, 'index.html'),
      `<h2 id="there"></h2>${anchors}<a href="c.html"></a><a href="/b.html"></a>`,
    );
    writeFileSync(
      join(folder, 'b.html'),
      '<a class="x" href="./index.html#there"></a><a href="https://elsewhere.example"></a>',
    );
    expect(site.deadLinks(folder, '/base/')).to.have.members([
      'index.html: #gone',
      'index.html: /base/b.html#there',
      'index.html: c.html',
      'index.html: /b.html',
    ]);
  });
});
