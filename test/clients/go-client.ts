import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ClientAbsent, type BuiltClient, type ForeignClient } from './foreign-client.js';
import { requireToolchain, runTool } from './run-tool.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = join(ROOT, 'test/clients/go');
/** A toolchain that is too old is told so, and fetches no other one. */
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
  await runTool(
    join(ROOT, 'node_modules/.bin/buf'),
    ['generate', join(ROOT, 'proto'), '--template', 'buf.gen.yaml', '-o', '.'],
    { folder, environment: OFFLINE },
  );
  await runTool('go', ['build', '-o', 'client', '.'], { folder, environment: OFFLINE });
  return { command: join(folder, 'client'), args: [], remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function requireGo(): Promise<void> {
  const least = /^go (\d+\.\d+)/m.exec(readFileSync(join(SOURCES, 'go.mod'), 'utf8'))?.[1] ?? '';
  await requireToolchain({ language: 'Go', command: 'go', args: ['env', 'GOVERSION'], environment: LOCAL, least });
}
