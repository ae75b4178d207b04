#!/usr/bin/env node
/**
 * Builds the program if a source has changed since the last build that this script made, so that neither `npm ci` nor `npm
 * start` runs old code, and a start without a change takes no build. It uses no package itself. Exits with 1 and one sentence
 * if the packages are not installed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Everything that the build reads. */
const SOURCES = ['core', 'adapters', 'apps', 'clients', 'test', 'bench', 'docs', 'package-lock.json'];
const CONFIGURATIONS = ['tsconfig.json', 'tsconfig.base.json', 'package.json'];
/** The build's own output among the sources. The folder is created before times are read, because creating it changes its parent. */
const WRITTEN = join(ROOT, 'clients/typescript/src/generated');
/** Written by package managers and by Python. */
const IGNORED = new Set(['node_modules', '__pycache__', '.pytest_cache', '.mypy_cache']);
/** The newest change that the last build has seen, in milliseconds; in `dist`, so that it goes with what was built. */
const STAMP = join(ROOT, 'dist/.built');

if (!existsSync(join(ROOT, 'node_modules/.package-lock.json'))) {
  console.error('The packages of Darkroom are not installed in this folder yet: run npm ci first.');
  process.exitCode = 1;
} else ensureBuilt();

function ensureBuilt() {
  mkdirSync(WRITTEN, { recursive: true });
  // Taken before the build: what changes while it runs is built the next time.
  const changedAt = Math.max(...[...SOURCES, ...CONFIGURATIONS].map((path) => newestChange(join(ROOT, path))));
  if (changedAt <= builtAt()) return;
  try {
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit', shell: process.platform === 'win32' });
  } catch (error) {
    // The compiler has said what is wrong.
    process.exitCode = error.status ?? 1;
    return;
  }
  writeFileSync(STAMP, String(changedAt));
}

function builtAt() {
  try {
    return Number(readFileSync(STAMP, 'utf8'));
  } catch {
    return 0;
  }
}

/**
 * The time at which a file, or anything in a folder, was last changed: of a folder, as a file that is removed changes it.
 * The change time also covers a file that was replaced by an older one.
 */
function newestChange(path) {
  if (path === WRITTEN) return 0;
  const stat = statSync(path);
  const own = Math.max(stat.mtimeMs, stat.ctimeMs);
  if (!stat.isDirectory()) return own;
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => !IGNORED.has(entry.name) && (entry.isDirectory() || entry.isFile()))
    .reduce((newest, { name }) => Math.max(newest, newestChange(join(path, name))), own);
}
