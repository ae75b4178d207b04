/**
 * Goal: servers are found in the documented order, installed at most once, and never partly; failures are reported.
 * Method: machines with nothing on them but commands that stand in for the registries' clients, some of which fail, are
 * killed on the way, or run twice at once.
 */
import { expect } from 'chai';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BareMachine } from './bare-machine.js';
import { findProgram } from './find-program.js';
import { installProgram, NotInstalled } from './install-program.js';
import { PROGRAMS } from './programs.js';
import { ScriptProcess } from './script-process.js';

const { minio, mongo } = PROGRAMS;

describe('installing servers', () => {
  let machine: BareMachine;

  beforeEach(() => {
    machine = new BareMachine();
  });
  afterEach(() => machine.remove());

  it('finds nothing on a bare machine', () => {
    expect(findProgram(minio, machine.environment)).to.equal(null);
  });

  it('keeps what it installs under its pin, and finds it there', async () => {
    machine.installingGo();
    const installed = await installProgram(minio, machine.environment);
    expect(installed).to.include({ from: 'cache', version: minio.installs[0]?.version });
    expect(findProgram(minio, machine.environment)).to.deep.equal(installed);
    expect(machine.cached).to.deep.equal([`minio-go-${minio.installs[0]?.version}`]);
  });

  it('takes a program on the PATH before the one in the cache, and a real MongoDB before its stand-in', async () => {
    machine.installingGo();
    await installProgram(minio, machine.environment);
    const path = machine.command('minio', 'exit 0');
    expect(findProgram(minio, machine.environment)).to.deep.equal({ path, from: 'PATH', isMongod: false });
    machine.command('secantusd-rs', 'exit 0');
    expect(findProgram(mongo, machine.environment)).to.include({ from: 'PATH', isMongod: false });
    const mongod = machine.command('mongod', 'exit 0');
    expect(findProgram(mongo, machine.environment)).to.deep.equal({ path: mongod, from: 'PATH', isMongod: true });
  });

  it('reports what is missing where there is no client', async () => {
    expect((await refusal(installProgram(mongo, machine.environment))).message).to.equal(
      'Python 3 with venv and pip is not on this machine; Rust is not on this machine',
    );
  });

  it('passes on the error of a client, and keeps nothing', async () => {
    machine.command('go', 'echo "go: downloading" >&2; echo "go: error: no route" >&2; exit 1');
    expect((await refusal(installProgram(minio, machine.environment))).message).to.match(
      /^go install github.com\/minio\/minio@\S+ ended with 1 \(go: error: no route\)$/,
    );
    expect(machine.cached).to.deep.equal([]);
  });

  it('keeps no program that cannot be run', async () => {
    machine.command(
      'go',
      'mkdir -p "$GOBIN"; printf "#!/bin/sh\\nexit 7\\n" > "$GOBIN/minio"; chmod +x "$GOBIN/minio"',
    );
    expect((await refusal(installProgram(minio, machine.environment))).message).to.include('ended with 7');
    expect(machine.cached).to.deep.equal([]);
  });

  it('uses another source if the first fails', async () => {
    machine.command('python3', 'echo "No module named venv" >&2; exit 1');
    machine.command(
      'cargo',
      'while [ "$1" != --root ]; do shift; done; mkdir -p "$2/bin"; printf "#!/bin/sh\\nexit 0\\n" > "$2/bin/secantusd-rs"; chmod +x "$2/bin/secantusd-rs"',
    );
    const { version } = await installProgram(mongo, machine.environment);
    expect(version).to.equal(mongo.installs[1]?.version);
  });

  it('builds a server from sources, and keeps nothing but the server', async () => {
    machine.command('c++', 'exit 0');
    machine.command('rm', 'exec rm "$@"');
    machine.buildingPython();
    const { path, version } = await installProgram(PROGRAMS['sd-server'], machine.environment);
    expect(version).to.equal(PROGRAMS['sd-server'].installs[0]?.version);
    expect(readdirSync(dirname(path)).sort()).to.deep.equal(['bin', 'program']);
  });

  it('names the tool of a build that is missing', async () => {
    machine.buildingPython();
    expect((await refusal(installProgram(PROGRAMS['sd-server'], machine.environment))).message).to.equal(
      'c++ is not on this machine',
    );
    expect(machine.runs('python3')).to.equal(0);
  });

  it('recovers from an install that was killed', async () => {
    const begun = join(machine.folder, 'begun');
    machine.installingGo(
      `mkdir -p "$GOBIN"; echo half > "$GOBIN/minio"; chmod +x "$GOBIN/minio"; echo $$ > '${begun}'; while :; do sleep 1; done`,
    );
    const script = `const { installProgram } = await import(here + 'install-program.js'); const { PROGRAMS } = await import(here + 'programs.js');
      const { existsSync, readFileSync } = await import('node:fs');
      setInterval(() => { if (existsSync('${begun}')) console.log('begun ' + readFileSync('${begun}', 'utf8')); }, 20);
      await installProgram(PROGRAMS.minio, process.env);`;
    const installer = ScriptProcess.ofLines(script, machine.environment);
    const [, client] = await installer.until(/begun (\d+)\n/);
    installer.child.kill('SIGKILL');
    process.kill(Number(client), 'SIGKILL');
    await installer.ended;
    expect(findProgram(minio, machine.environment)).to.equal(null);
    expect(machine.cached).to.have.length(1);

    machine.installingGo();
    await installProgram(minio, machine.environment);
    expect(machine.cached).to.deep.equal([`minio-go-${minio.installs[0]?.version}`]);
  });

  it('is done once by two concurrent processes', async () => {
    const release = join(machine.folder, 'release');
    machine.installingGo(`while [ ! -e '${release}' ]; do sleep 0.05; done`);
    const environment = { ...machine.environment, ...machine.othersElsewhere('minio') };
    const installers = [1, 2].map(() => ScriptProcess.ofProgram('install.js', environment));
    await Promise.all(installers.map((installer) => installer.until(/MinIO: installing/)));
    writeFileSync(release, '');
    for (const { code, output } of await Promise.all(installers.map(({ ended }) => ended))) {
      expect(output).to.match(/MinIO: v0\S+ in /);
      expect(code).to.equal(0);
    }
    expect(machine.runs('go')).to.equal(1);
  });

  it('succeeds without a missing server, and fails in CI', async () => {
    const environment = { ...machine.environment, ...machine.othersElsewhere('minio') };
    const ended = await ScriptProcess.ofProgram('install.js', environment).ended;
    expect(ended.output).to.include(
      'MinIO: absent: Go is not on this machine. Help that, put minio on the PATH, or set TEST_MINIO_URL',
    );
    expect(ended.code).to.equal(0);
    expect((await ScriptProcess.ofProgram('install.js', { ...environment, CI: 'true' }).ended).code).to.equal(1);
  });

  it('prints one line when all are installed and it is brief, and a line for each that was not', async () => {
    for (const command of ['mongod', 'versitygw', 'toxiproxy-server', 'sd-server', 'nginx', 'promtool', 'pgbouncer'])
      machine.command(command, 'exit 0');
    machine.installingGo();
    const environment = {
      ...machine.environment,
      TEST_COG_URL: 'http://127.0.0.1:5000',
      TEST_POSTGRES_URL: 'postgres://127.0.0.1:5432',
      TEST_POSTGRES_15_URL: 'postgres://127.0.0.1:5433',
    };
    const brief = () => ScriptProcess.ofProgram('install.js', environment, '--brief').ended;
    expect((await brief()).output).to.match(
      /^MinIO: installing [^\n]+\nMinIO: v0[^\n]+, installed now\nServers that are there: MongoDB, PostgreSQL 18, PostgreSQL 15, PgBouncer, versitygw, toxiproxy, stable-diffusion\.cpp, Cog, nginx, promtool\n$/,
    );
    expect(await brief()).to.deep.equal({
      code: 0,
      output:
        'Servers that are there: MongoDB, PostgreSQL 18, PostgreSQL 15, PgBouncer, MinIO, versitygw, toxiproxy, stable-diffusion.cpp, Cog, nginx, promtool\n',
    });
  });

  it('begins every script that needs servers', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      scripts: Readonly<Record<string, string>>;
    };
    expect(scripts['build:test']).to.match(/^npm run --silent build && node dist\/test\/servers\/install\.js --brief$/);
    for (const script of ['test', 'test:contracts', 'test:browser', 'test:clients', 'test:faults', 'vectors', 'bench'])
      expect(scripts[script], script).to.match(/^npm run --silent build:test && /);
  });

  it('skips it when told to', async () => {
    machine.installingGo();
    const environment = { ...machine.environment, ...machine.othersElsewhere('minio'), TEST_SERVERS_INSTALL: 'never' };
    expect((await ScriptProcess.ofProgram('install.js', environment).ended).output).to.include(
      'MinIO: absent, and TEST_SERVERS_INSTALL says never',
    );
    expect(machine.runs('go')).to.equal(0);
  });

  it('says so when the cache cannot be written', async () => {
    machine.installingGo();
    mkdirSync(machine.folder, { recursive: true });
    writeFileSync(join(machine.folder, 'cache'), 'a file where a folder should be');
    expect(await refusal(installProgram(minio, machine.environment))).to.be.instanceOf(NotInstalled);
  });
});

async function refusal(attempt: Promise<unknown>): Promise<Error> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof NotInstalled) return error;
    throw error;
  }
  throw new Error('It was installed.');
}
