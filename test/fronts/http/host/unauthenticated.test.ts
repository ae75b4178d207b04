import { expect } from 'chai';
import fc from 'fast-check';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { ClientAddresses } from '../../../../apps/http/host/client-addresses.js';
import { type ConnectionRefusal, MAX_BODY_BYTES } from '../../../../apps/http/host/http-context.js';
import { UnauthenticatedRefusals } from '../../../../apps/http/host/unauthenticated-refusals.js';
import { type ErrorCode, ServiceError } from '../../../../core/errors.js';
import type { JsonObject } from '../../../../core/json.js';
import { ManualClock } from '../../../fixtures/clocks.js';
import { collectGarbage } from '../../../fixtures/resident-memory.js';
import { createRequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { exchange, parseAnswer, RawConnections, receivedOn } from './raw-socket.js';
import { BASE, RestHarness, type RunningServer, serve } from './rest-client.js';
import { type KeptLog, keptLog } from '../../../harness/kept-log.js';
import { forAllSync } from '../../../harness/for-all.js';

// Goal: no client can continue guessing credentials from one address, no valid credential is ever refused for its
// address, and a flood fills neither the log nor the memory: refused requests without a known caller share one sample
// of lines.
// Method: a clock that the test moves, and real servers behind a trusted proxy that the headers simulate; the client
// that the proxy's header names is compared with an independent reading of it. Lines and answers are counted.

const INVALID = new ServiceError('DEVELOPER_TOKEN_INVALID');

describe('refused unauthenticated requests', () => {
  const open = (perMinute: number) => {
    const clock = new ManualClock();
    const { lines, logger } = keptLog();
    return { clock, lines, failures: new UnauthenticatedRefusals(perMinute, { clock, logger }) };
  };
  const codeOf = (failures: UnauthenticatedRefusals, address: string, error = INVALID): ErrorCode =>
    failures.countFailure(address, error).code;

  it('are refused as rate-limited once there are too many of one address, until the minute is over', async () => {
    const { clock, failures } = open(3);
    for (let count = 0; count < 3; count += 1) expect(codeOf(failures, 'a')).to.equal('DEVELOPER_TOKEN_INVALID');
    await clock.advance(20_000);
    const error = failures.countFailure('a', INVALID);
    expect([error.code, error.details.retryAfterMs]).to.deep.equal(['RATE_LIMITED', 40_000]);
    expect(codeOf(failures, 'b')).to.equal('DEVELOPER_TOKEN_INVALID');
    await clock.advance(40_000);
    expect(codeOf(failures, 'a')).to.equal('DEVELOPER_TOKEN_INVALID');
    clock.jump(-3_600_000);
    expect(codeOf(failures, 'a'), 'a clock that was set back').to.equal('DEVELOPER_TOKEN_INVALID');
  });

  it('count expired and revoked credentials, and not missing ones', () => {
    const { failures } = open(2);
    for (let count = 0; count < 10; count += 1)
      expect(codeOf(failures, 'a', new ServiceError('DEVELOPER_TOKEN_REQUIRED'))).to.equal('DEVELOPER_TOKEN_REQUIRED');
    expect(codeOf(failures, 'a', new ServiceError('DEVELOPER_TOKEN_EXPIRED'))).to.equal('DEVELOPER_TOKEN_EXPIRED');
    expect(codeOf(failures, 'a', new ServiceError('DEVELOPER_TOKEN_REVOKED'))).to.equal('DEVELOPER_TOKEN_REVOKED');
    expect(codeOf(failures, 'a')).to.equal('RATE_LIMITED');
    const unlimited = open(0).failures;
    for (let count = 0; count < 1_000; count += 1) expect(codeOf(unlimited, 'a')).to.equal('DEVELOPER_TOKEN_INVALID');
  });

  it('are logged one by one while they are few, and then in one line a minute', async () => {
    const { clock, lines, failures } = open(60);
    const told = (address: string, times: number) =>
      Array.from({ length: times }, () => failures.isLogged(address)).filter(Boolean).length;
    for (let count = 0; count < 7; count += 1) failures.countFailure('a', INVALID);
    expect([told('a', 1_000), told('b', 3)]).to.deep.equal([5, 3]);
    expect(lines).to.deep.equal([]);
    await clock.advance(60_000);
    expect(
      lines.map(({ msg, level, refusals, failures: count, notLogged, addresses, most }) => ({
        msg,
        level,
        refusals,
        count,
        notLogged,
        addresses,
        most,
      })),
    ).to.deep.equal([
      {
        msg: 'unauthenticated requests refused',
        level: 40,
        refusals: 1_003,
        count: 7,
        notLogged: 995,
        addresses: 2,
        most: [
          { address: 'a', failures: 7, refusals: 1_000 },
          { address: 'b', failures: 0, refusals: 3 },
        ],
      },
    ]);
    expect(told('a', 2)).to.equal(2);
    failures.close();
    await clock.advance(120_000);
    expect(lines, 'nothing was left out').to.have.length(1);
  });

  it('take bounded memory in a flood from any number of addresses', async () => {
    const { clock, lines, failures } = open(60);
    let told = 0;
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 200_000; index += 1) {
      const address = `2001:db8:${index >> 16}:${index & 0xffff}::/64`;
      failures.countFailure(address, INVALID);
      told += failures.isLogged(address) ? 1 : 0;
    }
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before, 'bytes kept').to.be.below(50 * 1024 * 1024);
    expect(told).to.equal(100);
    expect(codeOf(failures, 'one more'), 'counted as one with the others').to.equal('RATE_LIMITED');
    await clock.advance(60_000);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ refusals: 200_000, failures: 200_001, addresses: 10_001 });
    expect(lines[0]?.['most']).to.have.length(5);
  });
});

describe('the client behind trusted proxies', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '::1']);
  const clientOf = (remoteAddress: string | undefined, header?: string) =>
    addresses.ofRequest({
      socket: { remoteAddress } as never,
      headers: header === undefined ? {} : { 'x-forwarded-for': header },
    });

  it('is the last address that is not a proxy, whatever a client wrote before it', () => {
    const entry = fc.constantFrom(
      '10.0.0.1',
      '10.9.9.9',
      '::1',
      '192.0.2.1',
      '198.51.100.7',
      '2001:db8::1',
      'unknown',
      '',
      '1.2.3.4:80',
      '::ffff:10.0.0.2',
    );
    const isProxy = (text: string) => text.startsWith('10.') || text === '::1' || text === '::ffff:10.0.0.2';
    const shown: Record<string, string> = {
      '2001:db8::1': '2001:db8:0:0::/64',
      '::1': '0:0:0:0::/64',
      '::ffff:10.0.0.2': '10.0.0.2',
    };
    forAllSync(2_000, [fc.array(entry, { minLength: 1, maxLength: 6 }), fc.constantFrom(', ', ',')], (hops, comma) => {
      const fromTheRight = hops.toReversed();
      const last = fromTheRight.findIndex((hop) => !isProxy(hop));
      const named = last === -1 ? hops[0] : fromTheRight[last];
      const expected =
        named === undefined || ['unknown', '', '1.2.3.4:80'].includes(named) ? '10.0.0.5' : (shown[named] ?? named);
      expect(clientOf('::ffff:10.0.0.5', hops.join(comma))).to.equal(expected);
    });
  });

  it('is the peer if that is not a proxy, or sends no header', () => {
    expect(clientOf('192.0.2.9', '198.51.100.7')).to.equal('192.0.2.9');
    expect([clientOf('10.0.0.1'), clientOf('10.0.0.1', ''), clientOf('::1')]).to.deep.equal([
      '10.0.0.1',
      '10.0.0.1',
      '0:0:0:0::/64',
    ]);
    expect(clientOf(undefined, '198.51.100.7')).to.equal('unknown');
    expect(clientOf('10.0.0.1', `${'10.0.0.1,'.repeat(1_700)}192.0.2.1`)).to.equal('192.0.2.1');
  });
});

describe('REST limits failed authentications', () => {
  let rest: RestHarness;
  let kept: KeptLog;

  beforeEach(async () => {
    kept = keptLog();
    rest = await RestHarness.open({
      logger: kept.logger,
      trustedProxies: ['127.0.0.1'],
      limits: { failedAuthenticationsPerMinute: 3 },
    });
  });
  afterEach(() => rest.close());

  const ask = async (credential: string | undefined, from: string) => {
    const headers: Record<string, string> = {
      'X-Forwarded-For': from,
      ...(credential === undefined ? {} : { Authorization: `Bearer ${credential}` }),
    };
    const answer = await fetch(`${rest.origin}${BASE}/credits`, { headers });
    return {
      status: answer.status,
      retryAfter: answer.headers.get('retry-after'),
      envelope: (await answer.json()) as JsonObject,
    };
  };

  it('refuses further invalid credentials of one address, and never a valid one', async () => {
    const valid = rest.credential;
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      statuses.push((await ask('svc_live_wrong', '192.0.2.1')).status, (await ask(valid, '192.0.2.1')).status);
    }
    expect(statuses).to.deep.equal([401, 200, 401, 200, 401, 200, 429, 200, 429, 200]);
    const refused = await ask(rest.fixture.secrets.get('revoked'), '192.0.2.1');
    expect([refused.status, refused.envelope['code']]).to.deep.equal([429, 'RATE_LIMITED']);
    expect(Number(refused.retryAfter)).to.be.within(1, 60);
    expect((await ask(undefined, '192.0.2.1')).status, 'no credential is no guess').to.equal(401);
    expect((await ask('svc_live_wrong', '192.0.2.2')).status).to.equal(401);
  });

  it('cannot be bypassed by forged headers, nor by other addresses of one network', async () => {
    const wrong = async (from: string) => (await ask('svc_live_wrong', from)).status;
    const forged = ['1.1.1.1, 192.0.2.1', '8.8.8.8,x,192.0.2.1', '::ffff:192.0.2.1', '9.9.9.9, 192.0.2.1, 127.0.0.1'];
    const statuses: number[] = [];
    for (const header of forged) statuses.push(await wrong(header));
    expect(statuses).to.deep.equal([401, 401, 401, 429]);
    const ofOneNetwork: number[] = [];
    for (let host = 0; host < 5; host += 1) ofOneNetwork.push(await wrong(`2001:db8::${host.toString(16)}`));
    expect(ofOneNetwork).to.deep.equal([401, 401, 401, 429, 429]);
    expect(await wrong('2001:db8:0:1::1')).to.equal(401);
  });

  it('logs each with its address while they are few, and the rest as one line', async () => {
    for (let count = 0; count < 30; count += 1) await ask('svc_live_wrong', '192.0.2.1');
    await ask(undefined, '192.0.2.3');
    const told = kept.lines.map(({ msg, code, address }) => [msg, code, address]);
    expect(told).to.deep.equal([
      ...Array.from({ length: 3 }, () => ['request', 'DEVELOPER_TOKEN_INVALID', '192.0.2.1']),
      ...Array.from({ length: 2 }, () => ['request', 'RATE_LIMITED', '192.0.2.1']),
      ['request', 'DEVELOPER_TOKEN_REQUIRED', '192.0.2.3'],
    ]);
    await rest.server.close(100);
    expect(kept.lines.at(-1)).to.include({
      msg: 'unauthenticated requests refused',
      refusals: 31,
      failures: 30,
      notLogged: 25,
    });
    expect(JSON.stringify(kept.lines)).to.not.include('svc_live_');
  });

  const REFUSED: readonly (readonly [name: string, line: string, headers: readonly string[], status: number])[] = [
    ['no credential', `GET ${BASE}/credits`, [], 401],
    ['another scheme', `GET ${BASE}/credits`, ['Authorization: Basic eDp5'], 401],
    ['no such route', 'GET /nowhere', [], 404],
    ['another method', 'PUT /healthz', [], 405],
    ['a target that is none', 'GET http://[', [], 400],
    ['a body where none is taken', `GET ${BASE}/models`, ['Content-Length: 2000'], 413],
  ];
  for (const [name, line, headers, status] of REFUSED) {
    it(`logs a flood of requests with the address of each line, and no line for most: ${name}`, async () => {
      const text = `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: 192.0.2.4\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`;
      for (let count = 0; count < 30; count += 1) await exchange(rest.port, text);
      expect(kept.lines.map((told) => [told['msg'], told['status'], told['address']])).to.deep.equal(
        Array.from({ length: 5 }, () => ['request', status, '192.0.2.4']),
      );
      await rest.server.close(100);
      expect(kept.lines.at(-1)).to.include({
        msg: 'unauthenticated requests refused',
        refusals: 30,
        failures: 0,
        notLogged: 25,
      });
    });
  }

  it('logs each refusal of a caller', async () => {
    const valid = rest.credential;
    for (let count = 0; count < 30; count += 1)
      await fetch(`${rest.origin}${BASE}/generations`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${valid}` },
      });
    expect(kept.lines.filter(({ msg, status }) => msg === 'request' && status === 400)).to.have.length(30);
  });
});

// Goal: one unauthenticated client holds bounded resources: connections, and bodies that no request needs any more.
// Method: raw sockets against servers with small bounds; connections are counted, and a body that is sent byte by byte
// is aborted before it is complete.

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

describe('REST bounds the resources of an unauthenticated client', () => {
  let harness: ServiceHarness;
  let running: RunningServer;
  let refused: ConnectionRefusal[];
  const connections = new RawConnections();

  beforeEach(async () => {
    refused = [];
    harness = await openServiceHarness();
  });
  afterEach(async () => {
    connections.close();
    await running.server.close(100);
    await harness.close();
  });

  const open = async (options: Parameters<typeof serve>[1]) => {
    running = await serve(harness, {
      ...options,
      observer: {
        started: () => undefined,
        ended: () => undefined,
        refused: (reason) => {
          refused.push(reason);
        },
      },
    });
  };

  /** A connection on which a request was sent, and whether it was answered or closed. */
  async function asked(): Promise<{ readonly socket: Socket; readonly isAnswered: boolean }> {
    const socket = connections.open(running.port);
    socket.write(HEALTH);
    const isAnswered = await new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    });
    return { socket, isAnswered };
  }

  it('refuses connections of one address beyond its limit, and accepts others once some are closed', async () => {
    await open({ limits: { maxConnectionsPerAddress: 20 } });
    const taken = [];
    for (let count = 0; count < 20; count += 1) taken.push(await asked());
    expect(taken.every(({ isAnswered }) => isAnswered)).to.equal(true);
    for (let count = 0; count < 5; count += 1) expect((await asked()).isAnswered).to.equal(false);
    expect(refused).to.deep.equal(Array.from({ length: 5 }, () => 'full_for_address'));
    // The server closes it too, once it has seen the end of the stream.
    taken[0]?.socket.end();
    await once(taken[0]?.socket as Socket, 'close');
    while (!(await asked()).isAnswered) expect(refused.length).to.be.below(1_000);
  });

  it('does not limit a trusted proxy', async () => {
    await open({ limits: { maxConnectionsPerAddress: 2 }, trustedProxies: ['127.0.0.0/8'] });
    for (let count = 0; count < 30; count += 1) expect((await asked()).isAnswered).to.equal(true);
    expect(refused).to.deep.equal([]);
  });

  const REFUSED: readonly (readonly [string, number])[] = [
    [`POST ${BASE}/generations`, 401],
    ['POST /nowhere', 404],
    ['PUT /healthz', 405],
    ['GET /healthz', 200],
    [`GET ${BASE}/models`, 413],
    ['GET /docs', 200],
    ['HEAD /healthz', 200],
    ['GET /objects/streamed', 200],
  ];
  for (const [line, status] of REFUSED) {
    it(`aborts a body that arrives slowly after its answer: ${line}`, async () => {
      await open({
        lingerMs: 20,
        signedObjects: {
          handle: () => Promise.resolve({ status: 200, headers: {}, body: Readable.from([Buffer.from('an object')]) }),
        },
      });
      const declared = 1_000_000;
      const socket = connections.open(running.port);
      const received = receivedOn(socket);
      let dripped = 0;
      socket.write(
        `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${declared}\r\n\r\n`,
      );
      const closed = new Promise((resolve) => {
        socket.once('close', resolve);
      });
      await once(socket, 'data');
      const drip = (): void => {
        if (socket.destroyed || dripped >= declared) return;
        dripped += 1;
        socket.write('x');
        setImmediate(drip);
      };
      drip();
      await closed;
      expect(parseAnswer(received()).status).to.equal(status);
      expect(dripped, 'bytes that were sent before the end').to.be.below(declared);
    });
  }

  for (const [line, status] of [
    [`POST ${BASE}/generations`, 401],
    ['POST /nowhere', 404],
    ['GET /healthz', 200],
    [`GET ${BASE}/models`, 413],
  ] as const) {
    it(`closes the connection of a body that comes in chunks of one byte: ${line}`, async () => {
      await open({ lingerMs: 2_000_000_000 });
      const socket = connections.open(running.port);
      const received = receivedOn(socket);
      socket.write(
        `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      let sent = 0;
      while (!socket.destroyed && sent < 20_000) {
        for (let more = 0; more < 100; more += 1) socket.write('1\r\nx\r\n');
        sent += 100;
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      // A client that continues sending may miss its answer.
      if (received() !== '') expect(parseAnswer(received()).status).to.equal(status);
      expect(sent, 'chunks that were sent before the end').to.be.below(20_000);
    });
  }

  it('accepts a body that arrives in segments of 200 bytes', async () => {
    await open({ limits: { bodyTimeoutMs: 600_000 } });
    const fixture = await createRequestFixture(harness.context);
    const body = JSON.stringify(PICTURE).padEnd(MAX_BODY_BYTES);
    const socket = connections.open(running.port, { noDelay: true });
    const answered = once(socket, 'data') as Promise<[Buffer]>;
    const headers = [
      'Host: x',
      `Authorization: Bearer ${fixture.secrets.get('owner') as string}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    socket.write(`POST ${BASE}/generations/estimate HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    for (let at = 0; at < body.length; at += 200) {
      socket.write(body.slice(at, at + 200));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    expect(parseAnswer((await answered)[0].toString('utf8')).status).to.equal(200);
  });

  it('keeps the connection of a client that sends the rest of its body in time', async () => {
    await open({ lingerMs: 2_000_000_000 });
    const socket = connections.open(running.port);
    const received = receivedOn(socket);
    socket.write(`POST ${BASE}/generations HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n`);
    await once(socket, 'data');
    socket.write(`12345${HEALTH.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`);
    await once(socket, 'close');
    expect([...received().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['401', '200']);
  });

  it('answers requests that arrive in parts, and half-closed connections', async () => {
    await open({ limits: { headersTimeoutMs: 40, requestTimeoutMs: 60_000 } });
    const half = parseAnswer(await exchange(running.port, 'GET /healthz HTTP/1.1\r\nHo'));
    expect([half.status, (JSON.parse(half.body) as JsonObject)['code']]).to.deep.equal([408, 'REQUEST_TIMEOUT']);
    const socket = connections.open(running.port, { allowHalfOpen: true });
    const received = receivedOn(socket);
    socket.end(HEALTH + HEALTH);
    await once(socket, 'close');
    expect(received() === '' || parseAnswer(received()).status === 200).to.equal(true);
  });
});
