import { expect } from 'chai';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CliProcess, CliRun } from '../../harness/cli-run.js';
import { CliService } from '../../harness/cli-service.js';
import { refusedStart } from '../../harness/refused-start.js';

// Goal: the compiled program passes its process's streams, variables, folder and signals to the command line, and exits
// with the code of the run: the part of `main.ts` and `process-io.ts` that a run inside the test's process cannot show.
// Method: real processes. These are all that the suites of the command line start:
//  1. --version, on stdout with code 0, and 2. an unknown command, on stderr with code 2;
//  3. a key piped into stdin, stored below HOME, relative to the folder it was started in, and 4. used by the next
//     process;
//  5. variables that name another server and key, and the code of a refusal;
//  6. SIGINT once, and 7. twice, while a generation runs;
//  8. SIGTERM to a service, which logs to stderr as JSON if that is not a terminal, and 9. a command beside that
//     process;
// 10. a second service over a folder that another process uses;
// 11. --help and the start of a server with the coverage of V8, which names the packages that they load;
// 12. a closed stdout, and 13. one that cannot be written, which is an unforeseen failure.
// Elsewhere: a terminal (first-start.test.ts), connections that libraries leave open (operator-grpc-waits.test.ts),
// `npm start` (service/npm-start.test.ts).

const MAIN = fileURLToPath(new URL('../../../apps/cli/main.js', import.meta.url));
const PACKAGE = new URL('../../../../package.json', import.meta.url);

/** The packages that parse commands, and that read addresses and the names of modules. */
const HELP_PACKAGES = ['commander', 'import-meta-resolve', 'ipaddr.js'];
const LOADED_WITH_FIRST_USE = [
  '@grpc/grpc-js',
  '@grpc/reflection',
  '@modelcontextprotocol/server',
  'agenda',
  'cli-progress',
  'file-type',
  'mediabunny',
  'minio',
  'mongodb',
  'oidc-provider',
  'openid-client',
  'sharp',
  'undici',
];

/** The names of the packages that a process with NODE_V8_COVERAGE loaded code of. */
function packagesIn(coverage: string): readonly string[] {
  const texts = readdirSync(coverage).map((file) => readFileSync(join(coverage, file), 'utf8'));
  const names = texts.flatMap((text) => [...text.matchAll(/\/node_modules\/((?:@[^/"]+\/)?[^/"]+)\//g)]);
  return [...new Set(names.map(([, name]) => name!))];
}

describe('the program as a process', () => {
  let service: CliService;
  before(async () => {
    service = await CliService.start();
  });
  after(() => service.stop());

  const start = (args: readonly string[], environment: Readonly<Record<string, string>> = service.caller, stdin = '') =>
    new CliProcess(service.folder, args, { environment, stdin });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
    expect(await start(['--version']).ended).to.deep.equal({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('loads few packages for --help, and nothing for a server that it does not need', async () => {
    const loaded = async (args: readonly string[]) => {
      const coverage = join(service.folder, `coverage-${args[0]}`);
      const { code } = await start(args, { NODE_V8_COVERAGE: coverage }).ended;
      expect(code).to.equal(args[0] === '--help' ? 0 : 1);
      return packagesIn(coverage);
    };
    expect(await loaded(['--help'])).to.have.members(HELP_PACKAGES);
    // The folder has a server already: this one ends when it has loaded everything that a start needs.
    const needed = await loaded(['serve']);
    expect(needed).to.include('koa');
    expect(needed.filter((name) => LOADED_WITH_FIRST_USE.includes(name))).to.deep.equal([]);
  });

  it('exits with the code of the run', async () => {
    expect(await start(['develop']).ended).to.deep.equal({
      code: 2,
      stdout: '',
      stderr: "darkroom: unknown command 'develop'\n",
    });
  });

  it('reads a piped key, and stores it in the home folder', async () => {
    const { code, stdout, stderr } = await start(['login', '--url', service.url], {}, `${service.secret}\n`).ended;
    expect({ code, stdout, stderr }).to.deep.equal({
      code: 0,
      stdout: `Logged in to ${service.url}. The account has 10000 credits.\n`,
      stderr: '',
    });
    expect(existsSync(join(service.folder, '.config', 'darkroom', 'profile.json'))).to.equal(true);
    expect((await start(['credits'], {}).ended).stdout).to.equal('10000 credits\n');
  });

  it('reads its variables', async () => {
    const { code, stderr } = await start(['credits'], { DARKROOM_URL: service.url, DARKROOM_API_KEY: 'svc_live_wrong' })
      .ended;
    expect(code).to.equal(3);
    expect(stderr).to.match(
      /^darkroom: The credential is not valid\. \(DEVELOPER_TOKEN_INVALID, request .+\) The key is from DARKROOM_API_KEY: .+\n$/,
    );
  });

  it('stops gracefully on SIGINT', async () => {
    const running = start(['generate', 'x', '--model', 'sandbox-test', '--param', 'behaviour=hang']);
    await running.until('stderr', '\nrunning\n');
    running.signal('SIGINT');
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).to.deep.equal({ code: 130, stdout: '' });
    expect(stderr).to.match(/\ncancelling\ncancelled\ndarkroom: The generation was cancelled, 0 credits charged\.\n$/);
  });

  it('exits immediately on a second SIGINT', async () => {
    const running = start([
      'generate',
      'x',
      '--model',
      'sandbox-test',
      '--param',
      'behaviour=late_success_after_cancel',
      '--param',
      'delay_ms=60000',
    ]);
    await running.until('stderr', '\nrunning\n');
    running.signal('SIGINT');
    await running.until('stderr', '\ncancelling\n');
    running.signal('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).to.equal(130);
    expect(stderr).to.match(
      /\ndarkroom: Interrupted\. Generation \S{36} .+; fetch it with: node \S+main\.js status \S{36} --out <path>\n$/,
    );
  });

  it('serves until SIGTERM, for commands of other processes too, and logs to stderr', async () => {
    const environment = { DARKROOM_DATA_FOLDER: 'served', DARKROOM_REST_PORT: '0' };
    const server = start(['serve', '--json'], environment);
    await server.until('stdout', '}\n');
    const { account_id: accountId } = JSON.parse(server.stdout) as { account_id: string };
    expect((await start(['accounts', 'list'], environment).ended).stdout).to.include(accountId);
    server.signal('SIGTERM');
    const { code, stderr } = await server.ended;
    expect(code, stderr).to.equal(0);
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { pid: number; msg: string });
    expect(lines.map(({ msg }) => msg).slice(-2)).to.deep.equal(['stopping', 'stopped']);
    expect(lines.every(({ pid }) => pid === server.child.pid)).to.equal(true);
  });

  it('says in one sentence that the folder already has a server', async () => {
    const { code, stderr } = await start(['serve'], { DARKROOM_REST_PORT: '0' }).ended;
    expect(code).to.equal(1);
    expect(refusedStart(stderr)).to.equal(
      `darkroom: Another server (process ${process.pid}) is using ${join(service.folder, 'data')}; stop it first, or choose another data folder.\n`,
    );
  });

  it('ends silently when its output is not read to the end', async () => {
    const child = start(['models', '--json']);
    child.child.stdout?.destroy();
    expect(await child.ended).to.deep.include({ code: 0, stderr: '' });
  });

  it('fails when its output cannot be written', async function () {
    if (!existsSync('/dev/full')) this.skip();
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [MAIN, '--version'], { stdio: ['ignore', full, 'pipe'] });
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    closeSync(full);
    expect(code).to.equal(1);
    expect(stderr).to.include('ENOSPC');
  });
});

// Goal: the key of a first start is shown once, on a terminal or in a file that only its owner can read, never in a
// pipe or a log; the suggested commands work with the configured catalog.
// Method: the service over an empty folder in this process, its output piped, and once as a process behind a
// pseudo-terminal; sh runs the commands it prints.

const SHIPPED = fileURLToPath(new URL('../../../../config/catalog.yaml', import.meta.url));
const KEY = /svc_live_[0-9A-Za-z]{49}/;
const BEHIND_A_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
const hasTerminals = spawnSync('python3', ['-c', 'import pty']).status === 0;

describe('a first start', () => {
  let folder: string;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-first-start-'));
    environment = {
      DARKROOM_PROFILE: join(folder, 'profile.json'),
      DARKROOM_REST_PORT: '0',
      DARKROOM_LOG_FORMAT: 'json',
    };
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  async function whileServing(until: string, look: (stdout: string) => Promise<void> | void): Promise<void> {
    const server = new CliRun(folder, ['serve'], { environment });
    try {
      await server.until('stdout', until);
      await look(server.stdout);
    } finally {
      server.signal('SIGTERM');
      await server.ended;
    }
  }

  for (const [how, args, until] of [
    ['text', [], 'to have it saved'],
    ['JSON', ['--json'], '}\n'],
  ] as const) {
    it(`writes the key to a private file where stdout is not a terminal, and never to a pipe: ${how}`, async () => {
      const server = new CliRun(folder, ['serve', ...args], { environment });
      await server.until('stdout', until);
      server.signal('SIGTERM');
      const { stdout, stderr } = await server.ended;
      const path = join(folder, 'data', 'first-key');
      expect(readFileSync(path, 'utf8')).to.match(new RegExp(`^${KEY.source}\n$`));
      expect(statSync(path).mode & 0o777).to.equal(0o600);
      expect(stdout).to.include(path).and.not.to.match(KEY);
      expect(stderr).to.include(JSON.stringify(path)).and.not.to.match(KEY);
    });
  }

  it('stores the key in a container for the address inside, and warns that no client reaches that', async () => {
    const container = { DARKROOM_COMMAND: 'docker exec 4f2a darkroom', DARKROOM_REST_PUBLIC_URL: 'http://localhost:1' };
    const server = new CliProcess(folder, ['serve'], { environment: { ...environment, ...container } });
    try {
      await server.until('stdout', 'is stored in');
      const [, port = ''] = /listening on 127\.0\.0\.1:(\d+)/.exec(server.stdout) ?? [];
      const profile = JSON.parse(readFileSync(join(folder, 'profile.json'), 'utf8')) as Record<string, unknown>;
      expect(profile).to.have.property('last_url', `http://127.0.0.1:${port}`);
      expect(profile['keys']).to.have.property(`http://127.0.0.1:${port}`);
      expect(server.stderr).to.include('only its container can call the service');
    } finally {
      server.child.kill('SIGTERM');
      await server.ended;
    }
  });

  it('shows the key to a terminal, and writes it to no file', async function () {
    if (!hasTerminals) this.skip();
    const child = spawn('python3', ['-c', BEHIND_A_TERMINAL, process.execPath, MAIN, 'serve'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let shown = '';
    child.stdout.setEncoding('utf8');
    for await (const text of child.stdout) {
      shown += text as string;
      // Types Ctrl-C into the terminal.
      if (shown.includes('to have it saved') && !shown.includes('^C')) child.stdin.write('\u0003');
    }
    if (child.exitCode === null) await once(child, 'exit');
    expect(shown).to.match(KEY);
    expect(() => statSync(join(folder, 'data', 'first-key'))).to.throw('ENOENT');
    expect(
      shown
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .join('\n'),
    ).not.to.match(KEY);
  });

  it('suggests a model of the configured catalog, in a request that is accepted each time it is sent with the key that was read once', async () => {
    const text = readFileSync(SHIPPED, 'utf8').replaceAll('sandbox-', 'studio-');
    writeFileSync(join(folder, 'catalog.yaml'), text);
    environment['DARKROOM_CATALOG'] = join(folder, 'catalog.yaml');
    await whileServing('to have it saved', async (stdout) => {
      const [, read = '', request = ''] = /^(key=.*)\n(curl [^]*?)(?=\n\n)/m.exec(stdout) ?? [];
      expect(request).to.include('--fail-with-body').and.include('"model_key":"studio-');
      const twice = ['set -e', read, request, 'echo', request].join('\n');
      const answers = await promisify(execFile)('sh', ['-c', twice], { cwd: folder });
      for (const answer of answers.stdout.split('\n'))
        expect(JSON.parse(answer)).to.have.nested.property('data.generation_id');
      expect(() => statSync(join(folder, 'data', 'first-key'))).to.throw('ENOENT');
    });
  });

  it('makes no person and no link where people cannot sign in', async () => {
    writeFileSync(join(folder, 'darkroom.yaml'), 'sign_in:\n  enabled: false\noauth:\n  enabled: false\n');
    await whileServing('to have it saved', (stdout) => {
      expect(stdout).to.include('API key').and.not.to.include('sign in');
    });
    expect(() => statSync(join(folder, 'data', 'sign-in-link'))).to.throw('ENOENT');
  });

  it('suggests none if no model makes a picture from a prompt alone', async () => {
    const video = readFileSync(SHIPPED, 'utf8')
      .split(/^(?= {2}- model_key:)/m)
      .filter((part, index) => index === 0 || part.includes('unit: second'));
    writeFileSync(join(folder, 'catalog.yaml'), video.join(''));
    environment['DARKROOM_CATALOG'] = join(folder, 'catalog.yaml');
    await whileServing('/models lists what there is.', (stdout) => {
      expect(stdout).not.to.include('curl');
    });
  });
});
