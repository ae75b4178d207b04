// Goal: a server that cannot start reports why in one sentence and ends with a code that is not 0.
// Method: the server's command over folders with one fault each; with a faulty catalog, a port that is taken and a
// missing secret, each of which stops the start at another stage, the compiled program as a child process, which has to
// exit on its own.
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { CliProcess, CliRun } from '../harness/cli-run.js';
import { refusedStart } from '../harness/refused-start.js';
import { LiveService } from './live-service.js';

describe('a start is refused with one sentence for', () => {
  let service: LiveService;
  let started: CliRun | CliProcess | undefined;
  beforeEach(async () => {
    service = await LiveService.prepare();
  });
  afterEach(() => {
    // One that does not end would outlive the test.
    if (started instanceof CliProcess) started.child.kill('SIGKILL');
    return service.remove();
  });

  /** The single sentence; nothing that looks like a stack, nothing on standard output. */
  async function refusal(
    environment: Readonly<Record<string, string>> = {},
    Command: typeof CliRun | typeof CliProcess = CliRun,
  ): Promise<string> {
    started = new Command(service.folder, ['serve'], {
      environment: { DARKROOM_CONFIG: service.configFile, ...environment },
    });
    const { code, stdout, stderr } = await started.ended;
    const sentence = refusedStart(stderr);
    expect(sentence).to.match(/^darkroom: [^\n]+[.]\n$/);
    expect(stderr).to.not.match(/\\n\s+at |node:internal|Error:|"stack"/);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    return sentence;
  }

  const inData = (name: string) => join(service.config.dataFolder, name);

  it('a catalog that is not YAML', async () => {
    writeFileSync(service.config.catalog, 'models: [');
    expect(await refusal({}, CliProcess)).to.include('catalog.yaml:1: ');
  });

  it('a missing catalog', async () => {
    rmSync(service.config.catalog);
    expect(await refusal()).to.include('catalog.yaml: There is no such file.');
  });

  it('a port that is taken', async () => {
    const other = createServer().listen(service.config.rest.port, '127.0.0.1');
    await once(other, 'listening');
    try {
      expect(await refusal({}, CliProcess))
        .to.include(`${service.config.rest.port}`)
        .and.to.include(
          'another process does; choose another port by DARKROOM_REST_PORT, or by rest.port in darkroom.yaml',
        );
      expect(
        await service.tool(({ context }) => context.accounts.list({ limit: 1 })),
        'no account whose key nobody was shown',
      ).to.deep.equal({ items: [] });
    } finally {
      other.close();
    }
  });

  it('a host that does not belong to this machine', async () => {
    expect(await refusal({ DARKROOM_REST_HOST: '192.0.2.1' })).to.include('192.0.2.1');
  });

  it('a gRPC front without one of its files', async () => {
    const grpc = { DARKROOM_GRPC_PORT: '0', DARKROOM_GRPC_CALLERS_FILE: 'callers.yaml' };
    expect(await refusal(grpc)).to.match(/grpc\.callers_file \S+callers\.yaml cannot be read\.$/m);
    writeFileSync(join(service.folder, 'callers.yaml'), 'callers: []');
    const tls = { ...grpc, DARKROOM_GRPC_TLS_CERT_FILE: 'server.pem', DARKROOM_GRPC_TLS_KEY_FILE: 'server.key' };
    expect(await refusal(tls)).to.match(/grpc\.tls_cert_file \S+server\.pem cannot be read\.$/m);
    expect(await refusal({ ...grpc, DARKROOM_GRPC_HOST: '0.0.0.0' })).to.include('tokens would travel in plain text');
  });

  it('a data folder that is a file', async () => {
    writeFileSync(service.config.dataFolder, '');
    expect(await refusal()).to.include(
      `The data folder ${service.config.dataFolder} cannot be created; it must be a folder this user may write.`,
    );
  });

  it('a data folder below /proc, where nothing can be made', async function () {
    if (!existsSync('/proc/self')) this.skip();
    for (const folder of ['/proc/darkroom', '/proc/darkroom/data'])
      expect(await refusal({ DARKROOM_DATA_FOLDER: folder }, CliProcess)).to.include(
        `The data folder ${folder} cannot be created; it must be a folder this user may write.`,
      );
  });

  it('a file that is not a database', async () => {
    mkdirSync(service.config.dataFolder);
    writeFileSync(inData('darkroom.db'), 'something else altogether, and long enough to be looked at. '.repeat(20));
    expect(await refusal()).to.include(
      `${inData('darkroom.db')} cannot be opened as a database; restore it from a backup`,
    );
  });

  it('a database of a newer release', async () => {
    await service.tenant(1);
    const database = new DatabaseSync(inData('darkroom.db'));
    database.exec('PRAGMA user_version = 999');
    database.close();
    expect(await refusal()).to.match(
      /has schema 999, newer than .+; use the release that wrote it, or a later one\.\n$/,
    );
  });

  it('keys whose secret is missing', async () => {
    await service.tenant(1);
    rmSync(inData('secret'));
    expect(await refusal({}, CliProcess)).to.include(
      `${inData('secret')} is missing, and no API key is valid without it; restore it from a backup`,
    );
    expect((await service.run('accounts', 'list')).stderr, 'an operator neither').to.include(
      'is missing, and no API key',
    );
    writeFileSync(inData('secret'), 'not hex', { mode: 0o600 });
    expect(await refusal()).to.include(`${inData('secret')} must hold 32 bytes in hex; restore it from a backup.`);
  });

  it('a folder that already has a server', async () => {
    await service.server.start();
    expect(await refusal()).to.match(
      /Another server \(process [0-9]+\) is using .+; stop it first, or choose another data folder\.\n$/,
    );
    expect((await fetch(`${service.url}/readyz`)).status, 'the first one goes on').to.equal(200);
  });
});
