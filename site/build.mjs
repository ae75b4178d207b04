/**
 * `npm run docs:site [-- --serve] [-- --base /path/]`: builds the documentation site from the pages of this project into
 * site/dist. Fails on a dead link or anchor. VitePress is installed once into the cache, apart from the program's packages.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
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
const PORT = 4173;

const { values } = parseArgs({
  options: { serve: { type: 'boolean', default: false }, base: { type: 'string', default: '/' } },
});

try {
  await main(values);
} catch (error) {
  console.error(`docs:site: ${error.message}`);
  process.exitCode = 1;
}

async function main({ base, serve }) {
  if (!/^\/(.*\/)?$/.test(base)) throw new Error('--base must begin and end with a slash, as /darkroom/.');
  const packages = packagesFolder(findProgram(PACKAGES) ?? (await installProgram(PACKAGES)));
  const vitepress = join(packages, 'node_modules/vitepress/bin/vitepress.js');
  const stage = mkdtempSync(join(tmpdir(), 'darkroom-site-'));
  try {
    await stagePages(ROOT, stage, { repository: repositoryAddress(), base });
    symlinkSync(join(packages, 'node_modules'), join(stage, 'node_modules'));
    build(vitepress, stage, base);
    if (serve) await preview(vitepress, stage);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function build(vitepress, stage, base) {
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });
  const { status } = spawnSync(process.execPath, [vitepress, 'build', stage, '--outDir', OUTPUT], { stdio: 'inherit' });
  if (status !== 0) throw new Error('VitePress did not build the site; its message is above.');
  const dead = deadLinks(OUTPUT, base);
  if (dead.length > 0) throw new Error(`${dead.length} links of the site lead nowhere:\n${dead.join('\n')}`);
  console.log(`The site is in ${OUTPUT}; all links lead to pages and headings.`);
}

/** On this machine only, until it is interrupted; the staged pages are removed after it. */
async function preview(vitepress, stage) {
  symlinkSync(OUTPUT, join(stage, '.vitepress/dist'));
  const args = [vitepress, 'preview', stage, '--host', '127.0.0.1', '--port', String(PORT)];
  const server = spawn(process.execPath, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
  await once(server, 'exit');
}

/** The repository's address for browsers; undefined where package.json names none. */
function repositoryAddress() {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const url = typeof repository === 'string' ? repository : repository?.url;
  return url?.replace(/^git\+/, '').replace(/\.git$/, '');
}
