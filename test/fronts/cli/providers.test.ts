// Goal: `darkroom providers check` says of each provider in one sentence what is wrong, makes nothing, and ends; `darkroom
// providers list` says the same on the stores and over gRPC.
// Method: command lines in this process, in a folder with a configuration and a catalog of its own; fakes of sd-server, one
// that hangs, and a port where nothing is.
import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../apps/config/load-config.js';
import { providerJson } from '../../../apps/operator/records.js';
import { StoreOperator } from '../../../apps/operator/store-operator.js';
import { checkProviders } from '../../../apps/wiring/check-providers.js';
import { ROOT } from '../../docs/pages.js';
import { CannedProvider } from '../../fixtures/canned-provider.js';
import { connectedProviders } from '../../fixtures/connected-providers.js';
import { PROMISES } from '../../fixtures/scripted-provider.js';
import { CliRun, type Ran } from '../../harness/cli-run.js';
import { SdcppFake } from '../../providers/fakes/sdcpp-fake.js';
import { freePort } from '../../servers/free-port.js';
import { GrpcService } from './grpc-service.js';

const CATALOG = readFileSync(join(ROOT, 'config/providers/sdcpp.catalog.yaml'), 'utf8');

describe('darkroom providers check', () => {
  let folder: string;
  let fake: SdcppFake;
  let nowhere: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-check-'));
    fake = await SdcppFake.open();
    nowhere = `http://127.0.0.1:${await freePort()}`;
    configure(fake.url);
  });
  after(async () => {
    await fake.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** `sdcpp` has all models of the catalog, `spare` none. */
  function configure(url: string, more = ''): void {
    writeFileSync(join(folder, 'catalog.yaml'), CATALOG);
    writeFileSync(
      join(folder, 'darkroom.yaml'),
      [
        'catalog: catalog.yaml',
        'providers:',
        `  sdcpp: { kind: sdcpp, base_url: "${url}"${more} }`,
        `  spare: { kind: sdcpp, base_url: "${nowhere}" }`,
        '  own: { kind: sandbox }',
      ].join('\n'),
    );
  }

  const run = (...args: readonly string[]): Promise<Ran> => new CliRun(folder, ['providers', 'check', ...args]).ended;

  it('names what works, what does not answer, and what has nothing to check', async () => {
    const { code, stdout, stderr } = await run();
    expect(stdout.split('\n')).to.have.length(4);
    expect(stdout).to.match(/^sdcpp: ok \(sd-server with .+\)\n/);
    expect(stdout).to.include(
      `spare: Nothing answers at ${nowhere} (ECONNREFUSED); check base_url, and whether the server runs.\n`,
    );
    expect(stdout).to.include('own: there is nothing to check.\n');
    expect([code, stderr]).to.deep.equal([1, 'darkroom: 1 of 3 providers cannot be used as configured.\n']);
    expect(fake.server.posts, 'nothing is made').to.equal(0);
  });

  it('checks the named one alone, and shows what it promises of each model as JSON', async () => {
    const { code, stdout } = await run('sdcpp', '--json');
    const { providers } = JSON.parse(stdout) as {
      providers: { name: string; faults: string[]; models: { promises: object }[] }[];
    };
    expect([code, providers.map(({ name, faults }) => [name, faults])]).to.deep.equal([0, [['sdcpp', []]]]);
    expect(providers[0]?.models.length).to.be.above(0);
    for (const { promises } of providers[0]?.models ?? [])
      expect(promises).to.include({ is_asked_by: 'nothing', is_paid: false });
  });

  it('refuses another name, and says which are similar', async () => {
    expect(await run('sdccp')).to.deep.equal({
      code: 2,
      stdout: '',
      stderr: 'darkroom: There is no provider sdccp in the configuration; similar names are sdcpp.\n',
    });
    expect((await run('elsewhere')).stderr).to.include('the names are sdcpp, spare, own.');
  });

  it('says what is wrong with options that cannot work, and checks the others', async () => {
    configure(fake.url, ', api_key_file: none.txt');
    const { code, stdout } = await run();
    configure(fake.url);
    expect(code).to.equal(1);
    expect(stdout).to.match(/^sdcpp: providers\.sdcpp\.api_key_file names a file that cannot be read \(ENOENT\)\.\n/);
    expect(stdout).to.include('own: there is nothing to check.');
  });

  it('shows the faults of a catalog that cannot be used', async () => {
    writeFileSync(join(folder, 'catalog.yaml'), 'version: 1\nmodels: []\n');
    const { code, stderr } = await run();
    configure(fake.url);
    expect([code, stderr.includes('catalog.yaml:2: models must have at least 1 item.')]).to.deep.equal([1, true]);
  });

  it('ends, when a server never answers', async () => {
    const config = await loadConfig({ folder, environment: {} });
    fake.server.plan({ type: 'hang' }, { of: 'check' });
    const [checked] = await checkProviders(config, { names: ['sdcpp'], timeoutMs: 50 });
    expect(checked?.faults).to.have.length(1);
    expect(checked?.faults[0]).to.match(/^It gave no answer within 0\.05 s\.$|was aborted\.$/);
  });
});

describe('darkroom catalog check', () => {
  it('shows who makes each model and what it promises, and warns on stderr with the line', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-check-'));
    const catalog = readFileSync(join(ROOT, 'config/providers/replicate.catalog.yaml'), 'utf8');
    const risky = catalog.replace('on_unknown_acceptance: fail', 'on_unknown_acceptance: resubmit');
    writeFileSync(join(folder, 'catalog.yaml'), risky);
    writeFileSync(
      join(folder, 'darkroom.yaml'),
      readFileSync(join(ROOT, 'config/providers/replicate.yaml'), 'utf8').replace(
        'replicate.catalog.yaml',
        'catalog.yaml',
      ),
    );
    const { code, stdout, stderr } = await new CliRun(folder, ['catalog', 'check']).ended;
    const line = risky.slice(0, risky.indexOf('on_unknown_acceptance: resubmit')).split('\n').length;
    rmSync(folder, { recursive: true, force: true });
    expect(code, 'a warning is no fault').to.equal(0);
    expect(stderr).to.match(
      new RegExp(`^darkroom: \\S+catalog\\.yaml:${line}: on_unknown_acceptance: resubmit may pay`),
    );
    expect(stderr.trim().split('\n')).to.have.length(1);
    expect(stdout).to.match(/ is right: \d+ models \(/);
    expect(stdout).to.match(/ +replicate +1 +cannot be asked after a lost answer; .+; paid$/m);
  });
});

describe('darkroom providers list', () => {
  let grpc: GrpcService;
  before(async () => {
    grpc = await GrpcService.open({
      ports: {
        providers: connectedProviders(
          { canned: new CannedProvider(new Uint8Array()), unused: new CannedProvider(new Uint8Array()) },
          { canned: { maxConcurrent: 3, maxSubmissionsPerMinute: 60 } },
        ),
      },
    });
    const now = grpc.harness.clock.now();
    const health = {
      circuit: 'paused',
      pausedUntil: now + 30_000,
      lastError: { at: now - 5, message: 'GET http://10.0.0.7:1234/queue: \u001b[2J reset' },
      medianSubmitMs: 412,
    } as const;
    await grpc.harness.context.providerUses.replace(
      {
        provider: 'canned',
        version: 1,
        shares: [{ worker: 'one', slots: 2, inUse: 1, wanted: 4, health, renewedAt: now, expiresAt: now + 10_000 }],
        idle: [{ worker: 'two', health: { circuit: 'closed' }, seenAt: now - 600_000 }],
        submissions: { thousandths: 0, refilledAt: now },
      },
      0,
    );
  });
  after(() => grpc.close());

  it('is over gRPC what it is on the stores', async () => {
    const listed = await new StoreOperator(grpc.harness.context).listProviders();
    const { stdout } = await grpc.operate(['providers', 'list', '--json']);
    expect(JSON.parse(stdout)).to.deep.equal({ providers: listed.map(providerJson) });
    expect(listed[0]).to.include({ circuit: 'paused', tasks: 1, waiting: 3 });
    expect(listed[0]?.models[0]?.promises).to.deep.equal(PROMISES);
  });

  it('shows state, limits, promises and the last error as text, on one line each', async () => {
    const { code, stdout } = await grpc.operate(['providers']);
    expect(code).to.equal(0);
    expect(stdout).to.match(/^PROVIDER +KIND +STATE +TASKS +WAITING +LIMITS +SUBMIT +MODELS\n/);
    expect(stdout).to.match(/^canned +scripted +paused +1 +3 +3 tasks, 60 a minute +412 ms +picture /m);
    expect(stdout).to.match(/^ {2}asked after a lost answer; takes a task once; stops running tasks; not paid$/m);
    expect(stdout).to.match(/^ {2}worker one: paused until \S+Z, 1 task, 3 waiting$/m);
    expect(stdout).to.match(/^ {4}\S+Z GET http:\/\/10\.0\.0\.7:1234\/queue: .*reset$/m);
    expect(stdout).to.not.include('\u001b');
    expect(stdout).to.match(/^ {2}worker two: last seen \S+Z, closed then$/m);
    expect(stdout).to.match(/^unused:\n {2}no model has it in its route\n {2}not used in the last hour$/m);
  });

  it('shows how many masks a model takes, over gRPC as on the stores', async () => {
    const canned = grpc.harness.context.providers.find('canned');
    if (canned === undefined) throw new Error('There is no such provider.');
    for (const [maxMaskedReferences, words] of [
      [1, 'takes 1 mask'],
      [3, 'takes 3 masks'],
    ] as const) {
      Object.assign(canned, { promises: () => ({ ...PROMISES, maxMaskedReferences }) });
      const listed = await new StoreOperator(grpc.harness.context).listProviders();
      const asJson = JSON.parse((await grpc.operate(['providers', 'list', '--json'])).stdout) as object;
      expect(asJson).to.deep.equal({ providers: listed.map(providerJson) });
      expect(asJson).to.have.nested.property(
        'providers[0].models[0].promises.max_masked_references',
        maxMaskedReferences,
      );
      expect((await grpc.operate(['providers'])).stdout).to.include(`stops running tasks; ${words}; not paid\n`);
    }
  });

  it('needs the scope operations:read', async () => {
    const { code, stderr } = await grpc.operate(['providers', 'list'], 'reader');
    expect([code, stderr.includes('operations:read')]).to.deep.equal([3, true]);
  });
});
