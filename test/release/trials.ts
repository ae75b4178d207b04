import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CASES, CHART, KUBERNETES_VERSION, pathOf, templateArguments } from '../deploy/chart-files.js';
import { findHelm, pythonCheckers } from '../deploy/tools.js';
import { type Page, readPage } from '../docs/pages.js';
import { freePort } from '../servers/free-port.js';
import type { Contents, Missing } from './contents.js';
import { commandsOf, type NodeRelease } from './node-releases.js';
import { emptyHome, type Place, run } from './run.js';

const READY_TRIES = 600;
const READY_INTERVAL_MS = 100;
/** The most that `node_modules` of an installation may take, by `du -sm`. */
export const MOST_INSTALLED_MIB = 190;

/** A server that was installed from its package, running over an empty data folder. */
export interface Installed {
  readonly url: string;
  readonly apiKey: string;
  stop(): Promise<void>;
}

/** An empty folder with an empty home beside it, removed after `use`. */
export async function inEmptyFolder<T>(use: (folder: string, home: string) => Promise<T>): Promise<T> {
  const parent = mkdtempSync(join(tmpdir(), 'darkroom-release-'));
  const [folder, home] = [join(parent, 'folder'), join(parent, 'home')];
  mkdirSync(folder);
  mkdirSync(home);
  try {
    return await use(folder, home);
  } finally {
    rmSync(parent, { recursive: true, force: true, maxRetries: 5 });
  }
}

export interface ServerTrial {
  readonly release: NodeRelease;
  /** Whether to install with `npm install -g`, below a prefix. */
  readonly isGlobal: boolean;
  /** Called while the server runs. */
  readonly use?: (server: Installed, place: Place) => Promise<void>;
}

/** Installs the server, makes a first picture with it and stops it. Returns a line for the report. */
export async function tryServer({ server, version }: Contents, trial: ServerTrial): Promise<string> {
  const { release, isGlobal, use } = trial;
  return inEmptyFolder(async (folder, home) => {
    const place = { folder, environment: emptyHome(home, await commandsOf(release)) };
    const began = Date.now();
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', server];
    await run('npm', isGlobal ? [...args, '--global', '--prefix', folder] : args, place);
    const seconds = ((Date.now() - began) / 1_000).toFixed(1);
    const modules = join(folder, isGlobal ? 'lib/node_modules' : 'node_modules');
    const mib = Number((await run('du', ['-sm', modules], place)).split('\t')[0]);
    if (mib > MOST_INSTALLED_MIB)
      throw new Error(`An installation of the server takes ${mib} MiB, and at most ${MOST_INSTALLED_MIB} are allowed.`);
    const program = join(folder, isGlobal ? 'bin' : 'node_modules/.bin', 'darkroom');
    const named = (await run(program, ['--version'], place)).trim();
    if (named !== version) throw new Error(`The installed program says that it is ${named}, and not ${version}.`);
    const running = await serve(program, place);
    try {
      await firstPicture(program, place, running);
      await use?.(running, place);
    } finally {
      await running.stop();
    }
    await run(program, ['verify'], place);
    return `${mib} MiB, installed in ${seconds} s`;
  });
}

/** Starts an installed program as somebody would who has only it, in the folder of the place. */
export async function serve(
  program: string,
  { folder, environment }: Place,
  { args = [], own = {} }: { readonly args?: readonly string[]; readonly own?: NodeJS.ProcessEnv } = {},
): Promise<Installed> {
  const port = await freePort();
  const child = spawn(program, ['serve', ...args], {
    cwd: folder,
    env: { ...environment, DARKROOM_REST_PORT: String(port), ...own },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => {
      printed = (printed + text.toString()).slice(-20_000);
    });
  const url = `http://127.0.0.1:${port}`;
  // The first key is in its file before this is printed.
  for (let tries = 0; !printed.includes('Serving on') || !(await isReady(url)); tries += 1) {
    if (child.exitCode !== null || tries === READY_TRIES) {
      await stop(child);
      throw new Error(`The installed server did not become ready: ${printed}`);
    }
    await sleep(READY_INTERVAL_MS);
  }
  return { url, apiKey: firstKey(folder), stop: () => stop(child) };
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

function firstKey(folder: string): string {
  try {
    return readFileSync(join(folder, 'data/first-key'), 'utf8').trim();
  } catch {
    return '';
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

async function firstPicture(program: string, place: Place, { url, apiKey }: Installed): Promise<void> {
  const environment = { ...place.environment, DARKROOM_URL: url, DARKROOM_API_KEY: apiKey };
  const args = ['generate', 'a lighthouse at dusk', '--out', 'first.png'];
  await run(program, args, { ...place, environment });
  requirePng(join(place.folder, 'first.png'));
}

const PNG = '89504e470d0a1a0a';

function requirePng(file: string): void {
  const bytes = readFileSync(file);
  if (bytes.subarray(0, 8).toString('hex') !== PNG || bytes.byteLength < 1_000)
    throw new Error(`${file} is not a picture.`);
}

/** The first program of a README, which makes a picture and prints its price. */
function firstProgram({ blocks }: Page, language: string): string {
  const [block] = blocks.filter(({ info }) => info === language);
  if (block === undefined) throw new Error(`The README has no block of ${language}.`);
  return block.text;
}

async function picture(command: string, file: string, place: Place, { url, apiKey }: Installed): Promise<void> {
  const environment = { ...place.environment, DARKROOM_URL: url, DARKROOM_API_KEY: apiKey };
  const printed = await run(command, [file], { ...place, environment });
  if (!/^\d+ credits$/m.test(printed)) throw new Error(`The README's program printed ${printed}`);
  requirePng(join(place.folder, 'lighthouse.png'));
}

/** Installs the client for TypeScript and runs its README's first program. */
export async function tryTypescript(
  { client }: Contents,
  server: Installed,
  commands: readonly string[],
): Promise<void> {
  await inEmptyFolder(async (folder, home) => {
    const place = { folder, environment: emptyHome(home, commands) };
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', client], place);
    writeFileSync(join(folder, 'picture.js'), firstProgram(readPage('clients/typescript/README.md'), 'js'));
    await picture('node', 'picture.js', place, server);
  });
}

/** Installs the wheel, and then the source distribution, each into an environment of its own, and runs the README's first program. */
export async function tryPython({ wheel, sdist, version }: Contents, server: Installed): Promise<void> {
  for (const file of [wheel, sdist])
    await inEmptyFolder(async (folder, home) => {
      const place = { folder, environment: emptyHome(home) };
      await run('python3', ['-m', 'venv', 'environment'], place);
      const python = join(folder, 'environment/bin/python3');
      await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', file], place);
      const program = 'import importlib.metadata as m; print(m.version("darkroom-client"))';
      const named = (await run(python, ['-c', program], place)).trim();
      if (named !== version) throw new Error(`${file} says that it is ${named}, and not ${version}.`);
      writeFileSync(join(folder, 'picture.py'), firstProgram(readPage('clients/python/README.md'), 'python'));
      await picture(python, 'picture.py', place, server);
    });
}

/** Renders the packed chart for the fewest and for all values, and has Kubernetes' own schemas check the result strictly. */
export async function tryChart({ chart }: Contents, missing: Missing): Promise<void> {
  const [helm, checkers] = [findHelm(), pythonCheckers()];
  if (chart === undefined || typeof helm === 'string') return;
  if (typeof checkers === 'string') missing(`the check of the chart's manifests: ${checkers}`);
  await inEmptyFolder(async (folder) => {
    for (const name of CASES) {
      const args = templateArguments(name).map((argument) => (argument === pathOf(CHART) ? chart : argument));
      const { code, output, complaint } = helm.run(args);
      if (code !== 0) throw new Error(`helm cannot render the packed chart: ${complaint}`);
      if (typeof checkers === 'string') continue;
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, output);
      const checked = checkers.kubernetes(['--kubernetes-version', KUBERNETES_VERSION, '--strict', file]);
      if (checked.code !== 0) throw new Error(`Kubernetes refuses the chart with ${name} values: ${checked.text}`);
    }
    const { code } = helm.run([
      ...templateArguments('least').map((a) => (a === pathOf(CHART) ? chart : a)),
      '--set',
      'worker.replica=3',
    ]);
    if (code === 0) throw new Error('The packed chart takes a value that it does not know.');
  });
}
