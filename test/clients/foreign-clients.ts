import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bufProgram } from '../servers/buf/buf.js';
import { commandPath, findProgram } from '../servers/find-program.js';
import { installProgram } from '../servers/install-program.js';
import { interpreterOf, pythonEnvironment } from '../servers/python-environment.js';

/**
 * A language's toolchain, or a package that its client needs, is not on this machine; the message is a sentence with
 * the remedy.
 */
export class ClientAbsent extends Error {}

/** The command that runs a client. */
export interface BuiltClient {
  readonly command: string;
  readonly args: readonly string[];
  remove(): void;
}

/** A client in another language, whose types are generated from the proto files. */
export interface ForeignClient {
  readonly language: string;
  /**
   * Gets what a build needs from the language's package registry, once per machine. Throws `ClientAbsent` without the
   * toolchain, and any other error when the registry did not give it.
   */
  install(): Promise<void>;
  /**
   * Generates and builds without a network. Throws `ClientAbsent`, and any other error if the generated code does not
   * build.
   */
  build(): Promise<BuiltClient>;
}

const LIMIT_MS = 10 * 60_000;
const REASON_LENGTH = 2_000;

export interface ToolOptions {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs a tool to its end and returns its output; its error output becomes the error. */
export async function runTool(
  command: string,
  args: readonly string[],
  { folder, environment = {} }: ToolOptions,
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, [...args], {
      cwd: folder,
      env: { ...process.env, ...environment },
      timeout: LIMIT_MS,
    });
    return stdout;
  } catch (error) {
    // Some tools print errors to stdout.
    const { stderr = '', stdout = '' } = error as { readonly stderr?: string; readonly stdout?: string };
    const said = stderr.trim() || stdout.trim() || (error as Error).message;
    throw new Error(`${command} ${args.slice(0, 3).join(' ')}: ${said.slice(-REASON_LENGTH)}`, { cause: error });
  }
}

export interface Toolchain {
  readonly language: string;
  readonly command: string;
  /** Have the command print its version. */
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The oldest version that will do, as `1.25`. */
  readonly least: string;
}

/** Throws `ClientAbsent` where the command is not on the PATH, or is too old. */
export async function requireToolchain({ language, command, args, environment = {}, least }: Toolchain): Promise<void> {
  const absent = (what: string) =>
    new ClientAbsent(`${what}: the ${language} client needs ${language} ${least} or newer.`);
  if (commandPath(command) === null) throw absent(`${language} is not on this machine`);
  const version = /\d+\.\d+/.exec(await runTool(command, args, { folder: tmpdir(), environment }))?.[0] ?? '0.0';
  if (least.localeCompare(version, 'en', { numeric: true }) > 0) throw absent(`${language} is ${version} here`);
}

/** The oldest that the packages of the tests are for. */
export function requirePython(): Promise<void> {
  return requireToolchain({ language: 'Python', command: 'python3', args: ['--version'], least: '3.10' });
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = join(ROOT, 'test/clients/go');
/** A toolchain that is too old fails with a message instead of downloading a newer one. */
const LOCAL = { GOTOOLCHAIN: 'local' };
const OFFLINE = { ...LOCAL, GOPROXY: 'off' };

/** Go's packages stay in Go's own cache, where every build on the machine finds them. */
export const GO_CLIENT: ForeignClient = {
  language: 'Go',

  async install() {
    await requireGo();
    if (await hasPackages()) return;
    await getPackages(LOCAL);
    // A first build compiles them all, which takes a minute; the tests then find it done.
    (await this.build()).remove();
  },

  async build() {
    await requireGo();
    if (!(await hasPackages()))
      throw new ClientAbsent('The packages of the Go client are not on this machine: run `npm run clients:install`.');
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-go-client-'));
    try {
      return await buildIn(folder);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  },
};

const getPackages = (environment: Readonly<Record<string, string>>) =>
  runTool('go', ['mod', 'download'], { folder: SOURCES, environment });

const hasPackages = (): Promise<boolean> =>
  getPackages(OFFLINE).then(
    () => true,
    () => false,
  );

async function buildIn(folder: string): Promise<BuiltClient> {
  cpSync(SOURCES, folder, { recursive: true });
  const args = ['--path', join(ROOT, 'proto/darkroom'), '--template', 'buf.gen.yaml', '-o', '.'];
  const { code, text } = (await bufProgram())(['generate', join(ROOT, 'proto'), ...args], folder, {
    ...process.env,
    ...OFFLINE,
  });
  if (code !== 0) throw new Error(`buf made no types for Go: ${text}`);
  await runTool('go', ['build', '-o', 'client', '.'], { folder, environment: OFFLINE });
  return { command: join(folder, 'client'), args: [], remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function requireGo(): Promise<void> {
  const least = /^go (\d+\.\d+)/m.exec(readFileSync(join(SOURCES, 'go.mod'), 'utf8'))?.[1] ?? '';
  await requireToolchain({ language: 'Go', command: 'go', args: ['env', 'GOVERSION'], environment: LOCAL, least });
}

const PYTHON_SOURCES = join(ROOT, 'test/clients/python');

const ENVIRONMENT = pythonEnvironment(
  { name: 'python-client', title: 'the Python client' },
  join(PYTHON_SOURCES, 'requirements.txt'),
);

export const PYTHON_CLIENT: ForeignClient = {
  language: 'Python',

  async install() {
    await requirePython();
    await installProgram(ENVIRONMENT);
  },

  async build() {
    await requirePython();
    const found = findProgram(ENVIRONMENT);
    if (!found)
      throw new ClientAbsent(
        'The packages of the Python client are not on this machine: run `npm run clients:install`.',
      );
    const interpreter = interpreterOf(found);
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-python-client-'));
    const remove = (): void => rmSync(folder, { recursive: true, force: true });
    try {
      cpSync(PYTHON_SOURCES, folder, { recursive: true });
      const protos = readdirSync(join(ROOT, 'proto/darkroom/v1')).map((name) => `darkroom/v1/${name}`);
      await runTool(
        interpreter,
        [
          '-m',
          'grpc_tools.protoc',
          '-I',
          join(ROOT, 'proto'),
          `--python_out=${folder}`,
          `--grpc_python_out=${folder}`,
          ...protos,
        ],
        { folder },
      );
    } catch (error) {
      remove();
      throw error;
    }
    return { command: interpreter, args: [join(folder, 'client.py')], remove };
  },
};

export const CLIENTS: readonly ForeignClient[] = [GO_CLIENT, PYTHON_CLIENT];

/** Returns what the suite needs, or skips the suite with a message if it is missing on this machine. */
export async function orSkip<T>(suite: Pick<Mocha.Context, 'skip'>, get: () => T | Promise<T>): Promise<T> {
  try {
    return await get();
  } catch (error) {
    if (!(error instanceof ClientAbsent)) throw error;
    console.log(`  Skipped: ${error.message}`);
    return suite.skip();
  }
}
