/**
 * Goal: the gRPC sample for Node in docs/grpc.md ends with the result through restarts of the processes, and with one
 * sentence when it cannot.
 * Method: the block of the page, as a process, against started programs: one restarted during a watch, two on shared
 * stores that restart one after the other, and each kind of failure.
 */
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPage, ROOT } from '../docs/pages.js';
import { freePort } from '../servers/free-port.js';
import { ON_MONGO, type OpenLane } from '../service/lanes.js';
import { LiveService, type Tenant } from '../service/live-service.js';
import { behaving, type EndedSample, runSample } from './samples.js';

const TOKEN = 'a'.repeat(64);
const CALLERS = JSON.stringify({
  callers: [
    {
      name: 'sample',
      token_sha256: createHash('sha256').update(TOKEN).digest('hex'),
      scopes: ['generations:read', 'generations:write'],
    },
  ],
});
const [text = ''] = readPage('docs/grpc.md')
  .blocks.filter(({ info }) => info === 'js')
  .map((block) => block.text);
const PRICE = 4;
/** Longer than the restarts of a test take. */
const SLOW = behaving({ behaviour: 'succeed', delay_ms: 15_000 });

describe('the gRPC sample for Node', () => {
  let folder: string;
  const opened: LiveService[] = [];
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-grpc-sample-'));
    writeFileSync(join(folder, 'sample.mjs'), text);
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    symlinkSync(join(ROOT, 'proto'), join(folder, 'proto'));
  });
  afterEach(async () => {
    for (const service of opened.splice(0)) await service.remove();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function start(options: Parameters<typeof LiveService.start>[0] = {}): Promise<LiveService> {
    const service = await LiveService.prepare({ callers: CALLERS, ...options });
    opened.push(service);
    await service.server.start();
    return service;
  }

  function run(
    address: string,
    { accountId, appId }: Pick<Tenant, 'accountId' | 'appId'>,
    { token = TOKEN, onLine = () => undefined }: { token?: string; onLine?: (line: string) => void } = {},
  ): Promise<EndedSample> {
    const environment = { DARKROOM_GRPC: address, ACCOUNT: accountId, APP: appId, SERVICE_TOKEN: token };
    return runSample(process.execPath, ['sample.mjs'], { folder, environment, onLine });
  }

  async function expectOnePicture(ended: EndedSample, tenant: Tenant, service: LiveService): Promise<void> {
    expect(ended.stderr).to.equal('');
    expect(ended.code).to.equal(0);
    expect(ended.stdout).to.match(/GENERATION_STATUS_SUCCEEDED\nhttp\S+\n$/);
    // Each watch begins with the status as it is then.
    expect(ended.stdout.match(/RUNNING/g)?.length, 'statuses of several watches').to.be.at.least(2);
    expect(await service.client(tenant.secret).balance()).to.equal(100 - PRICE);
    const { data } = await service.client(tenant.secret).request('GET', '/generations');
    expect(data['generations']).to.have.length(1);
  }

  it('makes one picture while the only process restarts during the watch', async () => {
    const service = await start({ catalog: behaving({ behaviour: 'succeed', delay_ms: 4_000 }) });
    const tenant = await service.tenant(100);
    let restarted: Promise<void> | undefined;
    const ended = await run(service.grpcAddress, tenant, {
      onLine: (line) => {
        if (line === 'GENERATION_STATUS_RUNNING') restarted ??= restart(service);
      },
    });
    await restarted;
    expect(restarted, 'a restart').to.not.equal(undefined);
    await expectOnePicture(ended, tenant, service);
  });

  it('makes one picture while two processes restart one after the other during the watch', async function () {
    const lane = (await ON_MONGO[0]?.open(this)) as OpenLane;
    const shared = { lane, catalog: SLOW };
    const first = await start(shared);
    // The stores are removed once, with the first.
    const second = await start({ ...shared, lane: { ...lane, remove: () => Promise.resolve() } });
    const tenant = await first.tenant(100);
    let restarted: Promise<void> | undefined;
    const ended = await run(`ipv4:${first.grpcAddress},${second.grpcAddress}`, tenant, {
      onLine: (line) => {
        if (line === 'GENERATION_STATUS_RUNNING') restarted ??= restart(first).then(() => restart(second));
      },
    });
    await restarted;
    expect(restarted, 'the restarts').to.not.equal(undefined);
    await expectOnePicture(ended, tenant, second);
  });

  describe('says in one sentence', () => {
    function expectSentence({ code, stderr }: EndedSample, sentence: RegExp): void {
      expect(stderr).to.match(sentence);
      expect(stderr.trimEnd().split('\n')).to.have.length(1);
      expect(code).to.equal(1);
    }

    it('that the token is wrong, that credits are missing and that an account is unknown', async () => {
      const service = await start();
      const tenant = await service.tenant(PRICE - 1);
      expectSentence(await run(service.grpcAddress, tenant, { token: 'b'.repeat(64) }), /credential/);
      expectSentence(await run(service.grpcAddress, tenant), /4 credits/);
      expectSentence(await run(service.grpcAddress, { accountId: '', appId: '' }), /darkroom-account-id/);
    });

    it('why a generation failed', async () => {
      const service = await start({ catalog: behaving({ behaviour: 'fail' }) });
      const ended = await run(service.grpcAddress, await service.tenant(100));
      expect(ended.stdout).to.match(/GENERATION_STATUS_FAILED\n$/);
      expectSentence(ended, /./);
    });

    it('that nothing listens', async () => {
      const ended = await run(`127.0.0.1:${await freePort()}`, { accountId: 'a', appId: 'b' });
      expectSentence(ended, /ECONNREFUSED/);
    });
  });
});

async function restart(service: LiveService): Promise<void> {
  await service.server.end('SIGTERM');
  await service.server.start();
}
