import { expect } from 'chai';
import { readdir, readFile } from 'node:fs/promises';
import { gunzipSync, brotliDecompressSync } from 'node:zlib';
import { PAGES } from '../../../apps/http/console/console-front.js';
import { OPERATOR_PAGES } from '../../../apps/http/console/operator/routes.js';

/**
 * Goal: the console stays small, is sent compressed, and is served at each of its addresses.
 * Method: the files that the build has made, and the list of pages in the source of the console.
 */

const WEB = new URL('../../../web/', import.meta.url);
const KB = 1_000;
/**
 * The bounds of the files in bytes: with Brotli the scripts of a developer, and all scripts, the operator area among them; with
 * gzip all scripts, those of the first page, and the styles; the fonts as they are.
 */
const BUDGET = {
  developerScripts: 66 * KB,
  scripts: 77 * KB,
  gzipScripts: 87 * KB,
  firstScripts: 38 * KB,
  styles: 10 * KB,
  fonts: 80 * KB,
} as const;

describe('the files of the console', () => {
  let page: string;
  let names: string[];
  before(async () => {
    page = await readFile(new URL('index.html', WEB), 'utf8');
    names = await readdir(new URL('assets/', WEB));
  });

  const read = (name: string) => readFile(new URL(`assets/${name}`, WEB));
  const sizeOf = async (some: readonly string[], ending = '.gz'): Promise<number> => {
    const sizes = await Promise.all(some.map(async (name) => (await read(name + ending)).byteLength));
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  const withEnding = (ending: string) => names.filter((name) => name.endsWith(ending));
  const inPage = () => [...page.matchAll(/\/console\/assets\/([^"]+\.js)"/g)].map(([, name = '']) => name);

  it('stay within their budget', async () => {
    expect(withEnding('.js')).to.include.members(inPage());
    expect(inPage()).to.have.lengthOf.at.least(1);
    const ofDevelopers = withEnding('.js').filter((name) => !name.startsWith('operator-area'));
    expect(ofDevelopers).to.have.lengthOf(withEnding('.js').length - 1);
    expect(await sizeOf(ofDevelopers, '.br'), 'scripts of a developer').to.be.at.most(BUDGET.developerScripts);
    expect(await sizeOf(withEnding('.js'), '.br'), 'all scripts').to.be.at.most(BUDGET.scripts);
    expect(await sizeOf(withEnding('.js')), 'all scripts with gzip').to.be.at.most(BUDGET.gzipScripts);
    expect(await sizeOf(inPage()), 'the scripts of the first page').to.be.at.most(BUDGET.firstScripts);
    expect(await sizeOf(withEnding('.css')), 'the styles').to.be.at.most(BUDGET.styles);
    expect(await sizeOf(withEnding('.woff2'), ''), 'the fonts').to.be.at.most(BUDGET.fonts);
  });

  it('have compressed copies of the same content', async () => {
    for (const name of [...withEnding('.js'), ...withEnding('.css'), ...withEnding('.svg')]) {
      const bytes = await read(name);
      expect(gunzipSync(await read(`${name}.gz`)).equals(bytes), name).to.equal(true);
      expect(brotliDecompressSync(await read(`${name}.br`)).equals(bytes), name).to.equal(true);
    }
  });

  it('have the icons in one file, with no icon that the scripts do not name', async () => {
    const [drawn, ...others] = withEnding('.svg');
    expect(others).to.deep.equal([]);
    const ids = [...(await read(drawn ?? '')).toString().matchAll(/<symbol id="([^"]+)"/g)].map(([, id = '']) => id);
    const scripts = (await Promise.all(withEnding('.js').map(read))).join('\n');
    expect(scripts).to.include(`/console/assets/${drawn}#`);
    expect(ids).to.have.lengthOf.at.least(50);
    expect(ids.filter((id) => !new RegExp(`["'\`]${id}["'\`]`).test(scripts))).to.deep.equal([]);
  });

  it('name the licence of each package that they contain', async () => {
    const licences = await readFile(new URL('licences.txt', WEB), 'utf8');
    for (const name of ['preact', '@preact/signals', 'lucide', 'inter', 'geist-mono'])
      expect(licences).to.include(name);
  });

  it('have an address at the server for each page of the console, and no other', async () => {
    const source = await readFile(new URL('../../../../apps/web/src/places.ts', import.meta.url), 'utf8');
    const pages = [...source.matchAll(/\{ path: '([^']*)', title: '[^']*'(, single: )?/g)];
    const own = pages.flatMap(([, path = '', single]) => (single === undefined ? [path] : [path, `${path}/*`]));
    const served = ['', ...PAGES, ...OPERATOR_PAGES].map((path) => path.slice(1).replace(/:\w+/, '*'));
    expect(pages).to.have.lengthOf.at.least(10);
    expect(own.toSorted()).to.deep.equal(served.toSorted());
  });
});
