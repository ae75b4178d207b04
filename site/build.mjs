/**
 * `npm run docs:site [-- --serve] [-- --base /path/]`: builds the documentation site from the pages of this project into
 * site/dist. Fails on a dead link or anchor. VitePress is installed once into the cache, apart from the program's packages.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findProgram } from '../dist/test/servers/find-program.js';
import { installProgram } from '../dist/test/servers/install-program.js';
import { nodePackages, packagesFolder } from '../dist/test/servers/npm-packages.js';
import { deadLinks } from './dead-links.mjs';
import { stagePages } from './pages.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OUTPUT = join(ROOT, 'site/dist');
const PACKAGES = nodePackages({ name: 'site', title: 'VitePress' }, join(ROOT, 'site'));

const { values } = parseArgs({
  options: { serve: { type: 'boolean', default: false }, base: { type: 'string', default: '/' } },
});

const folder = packagesFolder(findProgram(PACKAGES) ?? (await installProgram(PACKAGES)));
const stage = mkdtempSync(join(tmpdir(), 'darkroom-site-'));
try {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  await stagePages(ROOT, stage, { repository: webAddress(repository), base: values.base });
  symlinkSync(join(folder, 'node_modules'), join(stage, 'node_modules'));
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });
  vitepress('build', stage, '--outDir', OUTPUT);
  const dead = deadLinks(OUTPUT, values.base);
  if (dead.length > 0) throw new Error(`${dead.length} links of the site lead nowhere:\n${dead.join('\n')}`);
  console.log(`The site is in ${OUTPUT}; all links lead to pages and headings.`);
  if (values.serve) serve(stage);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

function vitepress(...args) {
  const { status } = spawnSync(process.execPath, [join(folder, 'node_modules/vitepress/bin/vitepress.js'), ...args], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('VitePress did not build the site; its message is above.');
}

/** On this machine only, until it is interrupted. */
function serve(stageFolder) {
  mkdirSync(join(stageFolder, '.vitepress'), { recursive: true });
  symlinkSync(OUTPUT, join(stageFolder, '.vitepress/dist'));
  vitepress('preview', stageFolder, '--host', '127.0.0.1', '--port', '4173');
}

/** The address of the repository for browsers; undefined where package.json names none. */
function webAddress(repository) {
  const url = typeof repository === 'string' ? repository : repository?.url;
  return url?.replace(/^git\+/, '').replace(/\.git$/, '');
}
