import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findHelm } from '../deploy/tools.js';
import { breaksSince, collectInterfaces, readBaseline, unmentioned, writeBaseline } from './baseline.js';
import { bufProgram } from '../servers/buf/buf.js';
import { breakingOf, cutChangelog, sectionOf } from './changelog.js';

const RENDER = fileURLToPath(new URL('../deploy/render.js', import.meta.url));

/** How a file names the version, up to the version itself. Each is there exactly once. */
const VERSIONED: readonly (readonly [file: string, before: RegExp])[] = [
  ['package.json', /^ {2}"version": "/m],
  ['package-lock.json', /^ {2}"version": "/m],
  ['package-lock.json', /^ {4}"": \{\n {6}"name": "darkroom-server",\n {6}"version": "/m],
  ['clients/typescript/package.json', /^ {2}"version": "/m],
  ['clients/python/pyproject.toml', /^version = "/m],
  ['deploy/helm/darkroom/Chart.yaml', /^version: /m],
  ['deploy/helm/darkroom/Chart.yaml', /^appVersion: "?/m],
  ['deploy/Dockerfile', /^ARG VERSION=/m],
];
/** Files that name the version to install or run. */
const MENTIONED = ['README.md', 'deploy', 'docs', 'clients'];
const BEFORE_MENTION =
  '(darkroom:|DARKROOM_VERSION:-|DARKROOM_VERSION=|darkroom-server[-@]|darkroom-client[-@]|darkroom_client-)';
const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

/**
 * Makes the working tree of a clean checkout that of a version: the version in all files that name it, the changelog's
 * section, and the recorded interfaces. It commits nothing. Throws a sentence, before it changes anything, if the tree is
 * not clean, the version is not a later one, or a break is not announced.
 */
export async function cutRelease(version: string, root: string, date = today()): Promise<void> {
  if (!SEMVER.test(version)) throw new Error(`${version} is not a version such as 0.2.0.`);
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' }).trim();
  if (changed !== '')
    throw new Error(
      `The working tree has changes; commit or remove them first:\n${changed.split('\n').slice(0, 5).join('\n')}`,
    );
  const { version: current } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const isFirst = readBaseline(root).version === version && current === version;
  if (!isFirst && !isLater(version, current))
    throw new Error(`${version} is not later than ${current}, which the files have.`);
  const interfaces = collectInterfaces();
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const found = breaksSince(readBaseline(root), interfaces, await bufProgram(), root);
  const sentences = unmentioned(found, breakingOf(sectionOf(changelog, 'Unreleased')));
  if (sentences.length > 0) throw new Error(sentences.join('\n'));
  const cut = cutChangelog(changelog, version, date);
  const texts = versioned(current, version, root);
  const helm = findHelm();
  if (typeof helm === 'string') throw new Error(`The manifests of the chart cannot be rendered for the tests: ${helm}`);

  for (const [file, text] of texts) writeFileSync(join(root, file), text);
  writeFileSync(join(root, 'CHANGELOG.md'), cut);
  await writeBaseline(version, interfaces, root);
  execFileSync(process.execPath, [RENDER], { cwd: root, stdio: 'ignore' });
  console.log(
    `release: the files are those of ${version}; run npm run build and npm run release:check, then commit and tag them.`,
  );
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function isLater(version: string, current: string): boolean {
  return version.localeCompare(current, 'en', { numeric: true }) > 0;
}

/** Every file that names the version, with another one in it. */
export function versioned(current: string, version: string, root: string): ReadonlyMap<string, string> {
  const list = execFileSync('git', ['ls-files', '--', ...MENTIONED], { cwd: root, encoding: 'utf8' });
  const mention = new RegExp(`${BEFORE_MENTION}${current.replaceAll('.', '\\.')}\\b`, 'g');
  const texts = new Map<string, string>();
  for (const file of list.split('\n').filter((name) => /\.(md|yaml|yml|sh|example|mjs)$|Dockerfile$/.test(name))) {
    const text = readFileSync(join(root, file), 'utf8');
    const renamed = text.replaceAll(mention, `$1${version}`);
    if (renamed !== text) texts.set(file, renamed);
  }
  for (const [file, before] of VERSIONED) {
    const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8');
    const pattern = new RegExp(`(${before.source})\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?`, before.flags);
    if (!pattern.test(text))
      throw new Error(`${file} does not name a version where it did; correct test/release/cut.ts.`);
    texts.set(file, text.replace(pattern, `$1${version}`));
  }
  return texts;
}
