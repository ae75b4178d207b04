/*
 * Goal: the package on npm contains what an installation and its exports use, and nothing else of this repository.
 * Method: ask npm for the list of files that it would pack; follow the imports and links of every packed file; compare the test
 * files among them with those that the contracts import.
 */
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { allPages, linksOf, ROOT, targetOf } from '../docs/pages.js';

interface Manifest {
  readonly private?: boolean;
  readonly bin: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Readonly<Record<'types' | 'default', string>>>>;
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
const packed = npmList();

/** The packages that the contracts import, as docs/writing-an-adapter.md says. Whoever runs them installs them. */
const BESIDE_THE_CONTRACTS = ['chai', 'fast-check', 'mocha'];

function npmList(): readonly string[] {
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json'];
  const text = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const [{ files }] = JSON.parse(text) as [{ readonly files: readonly { readonly path: string }[] }];
  return files.map(({ path }) => path);
}

/** The imports of a compiled file: files by their path in the project, packages by their name. */
function importsOf(path: string): readonly string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const statements =
    /^(?:import|export)\b[^'"`;]*?\bfrom ['"]([^'"]+)['"]|^import ['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm;
  return [...text.matchAll(statements)].map(([, ...names]) => {
    const name = names.find((each) => each !== undefined) ?? '';
    if (!name.startsWith('.')) return name;
    const file = relative(ROOT, join(ROOT, dirname(path), name));
    return path.endsWith('.d.ts') ? file.replace(/\.js$/, '.d.ts') : file;
  });
}

/** All files that some files import, directly or not. */
function closureOf(paths: readonly string[]): ReadonlySet<string> {
  const found = new Set(paths);
  for (const path of found)
    for (const file of importsOf(path)) if (file.startsWith('dist/') && existsSync(join(ROOT, file))) found.add(file);
  return found;
}

const isCode = (path: string) => path.startsWith('dist/') && /\.js$|\.d\.ts$/.test(path) && !isForBrowsers(path);
const isForBrowsers = (path: string) => /^dist\/(packages|web)\//.test(path);

describe('the package on npm', () => {
  it('has every file that its own files import', () => {
    const missing = packed.filter(isCode).flatMap((path) =>
      importsOf(path)
        .filter((file) => file.startsWith('dist/') && !packed.includes(file))
        .map((file) => `${path} imports ${file}`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('imports only packages that are installed with it, or that its contracts name', () => {
    const { dependencies } = manifest;
    const names = packed.filter(isCode).flatMap((path) => importsOf(path).map((name) => [path, name] as const));
    const others = names.filter(
      ([path, name]) =>
        !name.startsWith('dist/') &&
        !name.startsWith('node:') &&
        !Object.keys(dependencies).some((known) => name === known || name.startsWith(`${known}/`)) &&
        !(path.startsWith('dist/test/') && BESIDE_THE_CONTRACTS.includes(name)),
    );
    expect(others.map(([path, name]) => `${path} imports ${name}`)).to.deep.equal([]);
  });

  it('has of the tests what the contracts import, and no more', () => {
    const tests = packed.filter((path) => path.startsWith('dist/test/'));
    const contracts = tests.filter((path) => path.startsWith('dist/test/contracts/') || path.includes('/fake-server.'));
    const used = [...closureOf(contracts)].filter((path) => path.startsWith('dist/test/'));
    // A file that only declarations import is packed with its code.
    expect([...new Set(tests.map(moduleOf))]).to.have.members([...new Set(used.map(moduleOf))]);
    expect(tests.filter((path) => path.includes('.test.'))).to.deep.equal([]);
  });

  it('has types for its exports alone, and neither sources, source maps nor build state', () => {
    const exported = Object.values(manifest.exports).map(({ types }) => posix.normalize(types).split('*')[0]!);
    const kit = closureOf(
      packed.filter((path) => path.endsWith('.d.ts') && exported.some((at) => path.startsWith(at))),
    );
    expect(packed.filter((path) => path.endsWith('.d.ts') && !kit.has(path) && !isBesideKit(path))).to.deep.equal([]);
    expect(packed.filter((path) => /\.map$|\.tsbuildinfo$|\.tsx$/.test(path))).to.deep.equal([]);
    expect(packed.filter((path) => /(?<!\.d)\.ts$/.test(path) && !path.startsWith('docs/examples/'))).to.deep.equal([]);
  });

  it('has its command, its exports and the pages that the build makes', () => {
    expect(Object.values(manifest.bin).filter((path) => !packed.includes(path))).to.deep.equal([]);
    for (const [name, { types, default: code }] of Object.entries(manifest.exports))
      for (const path of [types, code]) {
        const [start = '', end = ''] = posix.normalize(path).split('*');
        expect(
          packed.some((file) => file.startsWith(start) && file.endsWith(end)),
          name,
        ).to.equal(true);
      }
    expect(packed).to.include.members([
      'dist/web/index.html',
      'dist/reference/index.html',
      'dist/packages/h264-mp4-encoder/embuild/dist/h264-mp4-encoder.node.js',
    ]);
  });

  it('has every file that its own pages link to', () => {
    const pages = allPages().filter(({ path }) => packed.includes(path));
    expect(pages.map(({ path }) => path)).to.include.members(['README.md', 'docs/README.md']);
    const missing = pages.flatMap((page) =>
      linksOf(page)
        .map((link) => targetOf(page, link).path)
        .filter((path) => !packed.some((file) => file === path || file.startsWith(`${path}/`)))
        .map((path) => `${page.path} links to ${path}`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('is never published from a folder that nobody checked', () => {
    expect(manifest.private).to.equal(undefined);
    expect(manifest.scripts['prepublishOnly']).to.match(/release:check.*exit 1$/);
    // These would run where it is installed.
    expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$/.test(name))).to.deep.equal([]);
  });
});

function moduleOf(path: string): string {
  return path.replace(/\.js$|\.d\.ts$/, '');
}

/** The types of a file of the kit, which a contract's code imports and its types do not. */
function isBesideKit(path: string): boolean {
  return path.startsWith('dist/test/');
}
