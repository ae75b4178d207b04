// Goal: the running program counts what it did, role by role; its probes report its state; without a port for them
// nothing is measured and nothing listens.
// Method: the compiled program; a small scenario through REST, then a scrape, compared with what clients and the ledger
// saw.
import { expect } from 'chai';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Family, parseExposition, valueOf } from '../fixtures/exposition.js';
import { TcpLink } from '../fixtures/tcp-link.js';
import { CliProcess } from '../harness/cli-run.js';
import { refusedStart } from '../harness/refused-start.js';
import { freePort } from '../servers/free-port.js';
import { orSkip, toxiproxyServer } from '../servers/servers.js';
import { ON_MONGO, type OpenLane } from './lanes.js';
import { LiveService } from './live-service.js';

async function scraped(port: number): Promise<{ readonly text: string; readonly families: Family[] }> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(response.status).to.equal(200);
  const text = await response.text();
  return { text, families: parseExposition(text) };
}

/**
 * Once the first recovery pass is over, runs whose charge is on the books are also recorded as settled, and requests
 * whose last byte a client has read are also counted.
 */
async function atRest(port: number): Promise<Awaited<ReturnType<typeof scraped>>> {
  for (;;) {
    const scrape = await scraped(port);
    const value = (name: string) => valueOf(scrape.families, `darkroom_${name}`, {});
    const working = value('worker_generations') + value('http_requests_in_flight');
    if (working === 0 && value('recovery_pass_duration_seconds_count') > 0) return scrape;
  }
}

const ready = async (port: number): Promise<number> => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
const GENERATIONS = '/api/v1/developer/generations';

describe('metrics of the running program', () => {
  let service: LiveService;
  let port: number;
  before(async () => {
    port = await freePort();
    service = await LiveService.start({ config: { internal: { port } } });
  });
  after(() => service.remove());

  it('count what happened: one succeeded, one refused, one cancelled', async () => {
    const tenant = await service.tenant(10);
    const client = service.client(tenant.secret);
    const made = await client.create('made', 'sandbox-image', { n: 2 });
    const task = await client.until(made.data['generation_id'] as string);
    expect([task['status'], task['charged_credits']]).to.deep.equal(['succeeded', 8]);
    expect((await client.create('refused', 'sandbox-image', { n: 2 })).code).to.equal('CREDITS_INSUFFICIENT');
    const slow = await client.create('slow', 'sandbox-test', { behaviour: 'slow', delay_ms: 60_000, size: '128x128' });
    expect(slow.status, slow.message).to.equal(202);
    await client.until(slow.data['generation_id'] as string, ['running']);
    await client.cancel(slow.data['generation_id'] as string);
    await client.until(slow.data['generation_id'] as string);
    for (const output of task['outputs'] as { url: string }[]) await (await fetch(output.url)).arrayBuffer();
    while ((await client.balance()) < 2) await client.balance();

    const { text, families } = await atRest(port);
    const value = (name: string, labels: Record<string, string> = {}) => valueOf(families, `darkroom_${name}`, labels);
    expect([
      value('generations_accepted_total', { model: 'sandbox-image' }),
      value('generations_accepted_total'),
    ]).to.deep.equal([1, 2]);
    expect(value('generations_finished_total', { model: 'sandbox-image', status: 'succeeded', code: 'none' })).to.equal(
      1,
    );
    expect(value('generations_finished_total', { model: 'sandbox-test', status: 'cancelled', code: 'none' })).to.equal(
      1,
    );
    expect(value('generations_finished_total')).to.equal(2);
    expect(value('http_requests_total', { route: GENERATIONS, method: 'POST', status: '202' })).to.equal(2);
    expect(value('http_requests_total', { route: GENERATIONS, method: 'POST', status: '402' })).to.equal(1);
    expect(value('http_refusals_total', { route: GENERATIONS, code: 'CREDITS_INSUFFICIENT' })).to.equal(1);
    expect(value('http_requests_total', { route: '/objects/:key', method: 'GET', status: '200' })).to.equal(2);
    expect([
      value('credits_moved_total', { kind: 'charge', to: 'spent' }),
      value('credits_moved_total', { kind: 'hold' }),
    ]).to.deep.equal([8, 9]);
    expect([value('holds_opened_total'), value('holds_closed_total')]).to.deep.equal([2, 2]);
    expect(value('provider_call_duration_seconds_count', { provider: 'sandbox', method: 'submit' })).to.equal(2);
    expect(value('provider_call_duration_seconds_count', { provider: 'sandbox', method: 'output' })).to.equal(2);
    expect(value('object_bytes_total', { direction: 'written' })).to.be.greaterThan(1_000);
    expect(value('recovery_pass_duration_seconds_count')).to.be.greaterThan(0);
    expect(value('recovery_last_pass_timestamp_seconds')).to.be.closeTo(Date.now() / 1_000, 60);
    expect(value('worker_generations')).to.equal(0);
    expect([value('open_generations_up'), value('open_generations')]).to.deep.equal([1, 0]);
    expect(value('store_failures_total')).to.equal(0);
    expect(text).not.to.match(/[0-9a-f]{8}-[0-9a-f]{4}-/);
    for (const secret of Object.values(tenant)) expect(text).not.to.include(secret);
  });

  it('are served only by the internal listener, which is not the front', async () => {
    expect((await fetch(`${service.url}/metrics`)).status).to.equal(404);
    expect((await fetch(`http://127.0.0.1:${port}${GENERATIONS}`)).status).to.equal(404);
    expect(await ready(port)).to.equal(200);
  });

  it('do not prevent it from stopping', async () => {
    expect(await service.server.end('SIGTERM')).to.equal(0);
    expect(await ready(port).catch(() => 'gone')).to.equal('gone');
  });
});

describe('an internal port that is taken', () => {
  let service: LiveService;
  beforeEach(async () => {
    service = await LiveService.prepare();
  });
  afterEach(() => service.remove());

  it('stops the start with one sentence, before anything was created', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    try {
      const environment = {
        DARKROOM_CONFIG: service.configFile,
        DARKROOM_INTERNAL_PORT: `${(other.address() as AddressInfo).port}`,
      };
      const { code, stderr } = await new CliProcess(service.folder, ['serve'], { environment }).ended;
      expect(refusedStart(stderr)).to.match(
        /^darkroom: The server cannot listen on port \d+ of 127\.0\.0\.1, since another process does; choose another port by DARKROOM_INTERNAL_PORT, or by internal\.port in darkroom\.yaml, or another internal\.host\.\n$/,
      );
      expect(code).to.equal(1);
      expect(await service.tool(({ context }) => context.accounts.list({ limit: 1 }))).to.deep.equal({ items: [] });
    } finally {
      other.close();
    }
  });
});

describe('a separate worker', () => {
  let lane: OpenLane | undefined;
  let link: TcpLink;
  let service: LiveService;
  let worker: CliProcess | undefined;
  before(async function open() {
    const toxiproxy = await orSkip(this, toxiproxyServer());
    lane = await ON_MONGO[0]?.open(this);
    const mongo = lane?.config['mongo'] as { url: string };
    const { host } = new URL(mongo.url);
    link = await TcpLink.open(toxiproxy, host);
    const config = {
      mongo: { ...mongo, url: mongo.url.replace(host, link.address), timeout_seconds: 1 },
      worker: { recovery_interval_seconds: 0.2, stop_grace_seconds: 1 },
    };
    service = await LiveService.prepare({ config, ...(lane ? { lane } : {}) });
  });
  after(async () => {
    if (lane === undefined) return;
    worker?.child.kill('SIGKILL');
    await worker?.ended;
    await link.heal();
    await service.remove();
    await link.close();
  });

  it('reports ready while its database answers, alive always, and counts failures of its stores', async () => {
    const port = await freePort();
    worker = new CliProcess(service.folder, ['serve', '--role', 'worker', '--json'], {
      environment: { DARKROOM_CONFIG: service.configFile, DARKROOM_INTERNAL_PORT: `${port}` },
    });
    await worker.until('stdout', '}\n');
    expect(await ready(port)).to.equal(200);
    const { families: first } = await scraped(port);
    expect(valueOf(first, 'darkroom_store_failures_total')).to.equal(0);
    expect(valueOf(first, 'darkroom_open_generations_up')).to.equal(1);
    const unfinishedPasses = async () =>
      valueOf((await scraped(port)).families, 'darkroom_warnings_total', { event: 'recovery pass not finished' });
    for (const fail of [() => link.cut(), () => link.swallow()]) {
      await fail();
      while ((await ready(port)) !== 503) await sleep(20);
      expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).to.equal(200);
      const unavailable = async () =>
        valueOf((await scraped(port)).families, 'darkroom_store_failures_total', {
          port: 'generations',
          reason: 'unavailable',
        });
      const before = await unavailable();
      while ((await unavailable()) === before) await sleep(20);
      // Another call may have failed first. The next recovery pass fails too, for as long as the link is cut.
      while ((await unfinishedPasses()) === 0) await sleep(20);
      await link.heal();
      while ((await ready(port)) !== 200) await sleep(20);
    }
    const { families } = await scraped(port);
    expect(valueOf(families, 'darkroom_http_requests_total')).to.equal(0);
  });
});
