// Goal: a service that is stopped answers the requests in progress, releases its work, and loses nothing; the next start
// over the same folder finds everything and continues immediately.
// Method: the compiled program under load, ended by SIGTERM and started again; leases so long that waiting for one to
// lapse would outlast the test.
import { expect } from 'chai';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyCredits } from '../../core/credits/verify.js';
import type { JsonObject } from '../../core/json.js';
import { CliProcess } from '../harness/cli-run.js';
import { sizeOf } from '../harness/run-sizes.js';
import { freePort } from '../servers/free-port.js';
import { type Client, LiveService, type Tenant } from './live-service.js';

const IDS = 24;

describe('a service stopped and started again', () => {
  let service: LiveService;
  let tenant: Tenant;
  let client: Client;

  before(async () => {
    service = await LiveService.prepare({
      config: {
        settings: { lease_seconds: 3_600 },
        worker: { stop_grace_seconds: 20, recovery_interval_seconds: 3_600 },
      },
    });
  });
  after(() => service.remove());
  beforeEach(async () => {
    if (service.server.pid === undefined) await service.server.start();
    tenant = await service.tenant(1_000);
    client = service.client(tenant.secret);
  });

  it('keeps its accounts, keys, generations and outputs', async () => {
    const { data } = await client.create('kept', 'sandbox-test', { size: '128x128' });
    const before = await client.until(data['generation_id'] as string);
    expect(await service.server.end('SIGTERM'), service.server.log).to.equal(0);
    await service.server.start();
    const after = (await client.look(data['generation_id'] as string)).data;
    const [url] = (after['outputs'] as unknown as { url: string }[]).map((output) => output.url);
    expect(
      Buffer.from(await (await fetch(url as string)).arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).to.equal('PNG');
    const steady = ({ outputs: _, ...task }: JsonObject) => task;
    expect(steady(after)).to.deep.equal(steady(before));
    expect(await client.balance()).to.equal(999);
    const again = await client.create('kept', 'sandbox-test', { size: '128x128' });
    expect([again.data['generation_id'], again.headers.get('idempotency-replayed')]).to.deep.equal([
      data['generation_id'],
      'true',
    ]);
  });

  it('answers requests in flight, hands its leases back, and continues the generations immediately', async () => {
    const creates = Array.from({ length: IDS }, (_, index) =>
      client
        .create(`k${index}`, 'sandbox-test', { behaviour: 'slow', delay_ms: index < 8 ? 1_500 : 0, size: '128x128' })
        .catch(() => undefined),
    );
    // Some are accepted, some in progress, when the signal arrives.
    await Promise.race(creates);
    const stopped = service.server.end('SIGTERM');
    const answers = await Promise.all(creates);
    expect(await stopped, service.server.log).to.equal(0);
    const accepted = answers.filter((answer) => answer !== undefined);
    for (const { status, code } of accepted)
      expect(status === 202 || code === 'SERVICE_UNAVAILABLE', `${status} ${code}`).to.equal(true);
    const leased = await service.tool(async ({ context }) => {
      const { items } = await context.generations.list({ of: 'account', accountId: tenant.accountId }, { limit: 100 });
      return items.filter(
        ({ lease, status }) => status === 'running' && lease !== undefined && lease.expiresAt > context.clock.now(),
      );
    });
    expect(leased, 'leases kept').to.deep.equal([]);

    await service.server.start();
    const ids = new Set<string>();
    for (let index = 0; index < IDS; index += 1) {
      const { status, data } = await client.create(`k${index}`, 'sandbox-test', {
        behaviour: 'slow',
        delay_ms: index < 8 ? 1_500 : 0,
        size: '128x128',
      });
      const known = answers[index];
      expect(status).to.equal(202);
      if (known?.status === 202) expect(data['generation_id']).to.equal(known.data['generation_id']);
      ids.add(data['generation_id'] as string);
    }
    // With leases of an hour and no second recovery pass, only released generations end here.
    for (const id of ids) expect((await client.until(id))['status']).to.equal('succeeded');
    expect(ids.size).to.equal(IDS);
    await service.tool(async ({ context }) => {
      while (((await context.accounts.read(tenant.accountId))?.holds.size ?? 0) > 0) await sleep(20);
      expect((await verifyCredits(context)).findings).to.deep.equal([]);
    });
    expect(await client.balance()).to.equal(1_000 - IDS);
  });

  it('does not wait for an idle connection', async () => {
    const { port } = new URL(service.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    const closed = once(socket, 'close');
    socket.resume();
    expect(await service.server.end('SIGTERM'), service.server.log).to.equal(0);
    await closed;
  });

  it('does not wait for a connection without a request', async () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    // Connections are accepted in order.
    await fetch(`${service.url}/healthz`);
    const closed = once(socket, 'close');
    socket.resume();
    expect(await service.server.end('SIGTERM'), service.server.log).to.equal(0);
    await closed;
  });

  it('may be asked to stop as soon as it is ready', async () => {
    expect(await service.server.end('SIGTERM'), service.server.log).to.equal(0);
    for (let times = 0; times < 3; times += 1) {
      await service.server.start();
      expect(await service.server.end('SIGTERM'), service.server.log).to.equal(0);
    }
  });
});

describe('a service asked to stop a second time', () => {
  let service: LiveService;
  before(async () => {
    service = await LiveService.prepare();
  });
  after(() => service.remove());

  const pairs = [
    ['SIGTERM', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGTERM'],
  ] as const;
  for (const [first, second] of pairs.slice(0, sizeOf('stopSignals'))) {
    it(`ends immediately, whatever is in progress: ${first}, then ${second}`, async () => {
      const [port, dataFolder] = [await freePort(), `${first}-${second}`];
      const environment = {
        DARKROOM_CONFIG: service.configFile,
        DARKROOM_DATA_FOLDER: dataFolder,
        DARKROOM_REST_PORT: String(port),
        DARKROOM_LOG_LEVEL: 'info',
        DARKROOM_WORKER_STOP_GRACE_SECONDS: '3600',
        DARKROOM_REST_BODY_TIMEOUT_SECONDS: '3600',
      };
      const server = new CliProcess(service.folder, ['serve', '--json'], { environment });
      try {
        await server.until('stdout', '}\n');
        const { key_file } = JSON.parse(server.stdout) as { key_file: string };
        const secret = readFileSync(key_file, 'utf8').trim();
        const socket = connect(port, '127.0.0.1').on('error', () => undefined);
        // Half a body, which the server waits for; that it asks for it shows that the request is in progress.
        socket.write(
          `POST /api/v1/developer/generations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n{`,
        );
        await once(socket, 'data');
        server.child.kill(first);
        await server.until('stderr', '"stopping"');
        expect(server.child.exitCode, 'with the request under way').to.equal(null);
        // Signals of one kind that arrive together are one request, so it is repeated until it counts as the second.
        for (; server.child.exitCode === null && server.child.signalCode === null; await sleep(50))
          server.child.kill(second);
        expect((await server.ended).code).to.equal(130);
        expect(server.stderr).to.not.include('"stopped"');
        socket.destroy();
      } finally {
        server.child.kill('SIGKILL');
      }
    });
  }
});
