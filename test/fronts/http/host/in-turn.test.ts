// Goal: a client that sends thousands of requests on one connection without waiting delays no other client, loses no
// answer, and gets the answers in order.
// Method: raw sockets against a server that counts what it has answered; how many of a burst were answered before
// another connection's request is a count, and does not depend on the machine's speed.
import { expect } from 'chai';
import fc from 'fast-check';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { inTurn } from '../../../../apps/http/host/connections.js';
import type { AnsweredRequest } from '../../../../apps/http/host/http-context.js';
import type { JsonObject } from '../../../../core/json.js';
import { PICTURE } from '../../vectors/vector.js';
import { exchange, RawConnections, receivedOn } from './raw-socket.js';
import { BASE, RestHarness } from './rest-client.js';
import { forAll } from '../../../harness/for-all.js';

const BURST = 4_000;
const LARGE = Buffer.alloc(2_000_000);
const request = (path: string, ...headers: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: x', ...headers].join('\r\n')}\r\n\r\n`;
const LAST = request('/healthz', 'Connection: close');
const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
const idsIn = (text: string) => [...text.matchAll(/X-Request-Id: (\S+)/g)].map(([, id]) => id);

describe('REST serves the requests of one connection in turn', () => {
  let rest: RestHarness;
  let answered: AnsweredRequest[];
  let started: number;
  const connections = new RawConnections();

  beforeEach(async () => {
    answered = [];
    started = 0;
    rest = await RestHarness.open({
      signedObjects: { handle: () => Promise.resolve({ status: 200, headers: {}, body: Readable.from([LARGE]) }) },
      observer: {
        started: () => {
          started += 1;
        },
        ended: (one) => {
          answered.push(one);
        },
        refused: () => undefined,
      },
    });
  });
  afterEach(async () => {
    connections.close();
    await rest.close();
  });

  async function connected(): Promise<Socket> {
    const socket = connections.open(rest.port);
    await once(socket, 'connect');
    return socket;
  }

  it('answers another connection before it continues with a burst', async () => {
    const [burst, other] = [await connected(), await connected()];
    burst.write(request('/healthz').repeat(BURST));
    await once(burst, 'data');
    const before = answered.length;
    other.write(request('/readyz'));
    await once(other, 'data');
    const between = answered.findIndex(({ route }) => route === '/readyz') - before;
    expect(between, 'answers of the burst in between').to.be.below(200);
    expect(before, 'answers before the first of them was read').to.be.below(200);
  });

  it('answers all of a burst, each once and in order', async () => {
    const requests = Array.from({ length: BURST }, (_, index) => request('/healthz', `X-Request-Id: r${index}`)).join(
      '',
    );
    const text = await exchange(rest.port, requests + LAST);
    expect(idsIn(text).slice(0, BURST)).to.deep.equal(Array.from({ length: BURST }, (_, index) => `r${index}`));
    expect(statusesIn(text)).to.have.length(BURST + 1);
  });

  it('reads no further while many wait', async () => {
    const burst = await connected();
    let isTaken = false;
    let sent = 0;
    // One answer that the client does not read fills the socket, so that nothing continues.
    burst.pause();
    burst.write(request('/objects/large').repeat(20));
    const chunk = request('/healthz').repeat(1_000);
    while (sent < 300 && burst.write(chunk)) sent += 1;
    burst.once('drain', () => {
      isTaken = true;
    });
    const other = await connected();
    for (let round = 0; round < 50; round += 1) {
      other.write(request('/healthz'));
      await once(other, 'data');
    }
    const ofBurst = started - 50;
    expect(ofBurst, 'requests of the burst that were started').to.be.below(25);
    expect([sent < 300, isTaken], 'what was sent is not taken').to.deep.equal([true, false]);
  });

  it('answers any mixture as it would one by one', async () => {
    const credential = rest.credential;
    const authorization = `Authorization: Bearer ${credential}`;
    const body = JSON.stringify({ ...PICTURE });
    const post = (text: string, ...headers: string[]) =>
      `POST ${BASE}/generations/estimate HTTP/1.1\r\n${['Host: x', authorization, 'Content-Type: application/json', ...headers].join('\r\n')}\r\n\r\n${text}`;
    const kinds = {
      health: [request('/healthz'), 200],
      nowhere: [request('/nowhere'), 404],
      credits: [request(`${BASE}/credits`, authorization), 200],
      refused: [request(`${BASE}/credits`), 401],
      head: [request('/healthz').replace('GET', 'HEAD'), 200],
      estimate: [post(body, `Content-Length: ${Buffer.byteLength(body)}`), 200],
      chunked: [
        post(`${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`, 'Transfer-Encoding: chunked'),
        200,
      ],
      expecting: [post(body, `Content-Length: ${Buffer.byteLength(body)}`, 'Expect: 100-continue'), 200],
      unread: [`POST ${BASE}/uploads HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`, 401],
    } as const satisfies Record<string, readonly [string, number]>;
    await forAll(
      150,
      [fc.array(fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])), { maxLength: 60 })],
      async (names) => {
        const text = await exchange(rest.port, names.map((name) => kinds[name][0]).join('') + LAST);
        expect(statusesIn(text).filter((status) => status !== 100)).to.deep.equal([
          ...names.map((name) => kinds[name][1]),
          200,
        ]);
      },
    );
  });

  it('accepts bodies that are longer than what it reads ahead, one after another', async () => {
    const credential = rest.credential;
    const body = JSON.stringify(PICTURE).padEnd(120 * 1024);
    const head = [
      'Host: x',
      `Authorization: Bearer ${credential}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ].join('\r\n');
    const text = await exchange(
      rest.port,
      `POST ${BASE}/generations/estimate HTTP/1.1\r\n${head}\r\n\r\n${body}`.repeat(40) + LAST,
    );
    expect(statusesIn(text)).to.deep.equal(Array.from({ length: 41 }, () => 200));
  });

  const create = (key: string) => {
    const body = JSON.stringify(PICTURE);
    const headers = [
      'Host: x',
      `Authorization: Bearer ${rest.credential}`,
      `Idempotency-Key: ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    return `POST ${BASE}/generations HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
  };

  it('answers a request correctly, whatever garbage follows it, and then closes', async () => {
    for (const [index, nonsense] of ['nonsense\r\n\r\n', 'GET / HTTP/9\r\n\r\n', '\0'.repeat(100)].entries()) {
      expect(statusesIn(await exchange(rest.port, create(`k${index}`) + nonsense)), nonsense).to.deep.equal([202]);
    }
    expect(statusesIn(await exchange(rest.port, LAST + request('/healthz')))).to.deep.equal([200]);
    expect(statusesIn(await exchange(rest.port, 'nonsense\r\n\r\n'))).to.deep.equal([400]);
  });

  it('answers all complete requests before garbage, and none after the last one', async () => {
    for (const count of [1, 2, 15, 16, 40]) {
      const whole = request('/healthz').repeat(count);
      expect(statusesIn(await exchange(rest.port, `${whole}nonsense\r\n\r\n`)), `${count} and nonsense`).to.deep.equal(
        Array.from({ length: count }, () => 200),
      );
    }
    expect(statusesIn(await exchange(rest.port, request('/healthz') + LAST + request('/healthz')))).to.deep.equal([
      200, 200,
    ]);
    const broken = `POST ${BASE}/uploads HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`;
    expect(statusesIn(await exchange(rest.port, request('/healthz').repeat(3) + broken))).to.deep.equal([
      200, 200, 200,
    ]);
    expect(
      statusesIn(await exchange(rest.port, create('first') + create('second') + 'nonsense\r\n\r\n')),
    ).to.deep.equal([202, 202]);
  });

  it('serves nothing more for a client that has disconnected', async () => {
    await exchange(rest.port, request('/healthz').repeat(1_400) + create('gone'), { hangUp: true });
    await fetch(`${rest.origin}/healthz`);
    expect(answered.filter(({ route }) => route === `${BASE}/generations`)).to.deep.equal([]);
  });

  it('closes connections that exceed the room for waiting requests, and no others', async () => {
    const taken: ServerResponse[] = [];
    const server = createServer(
      inTurn((_, res) => {
        taken.push(res);
      }, 500),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const send = (requests: number) => {
      const socket = connections.open(port);
      socket.write(request('/').repeat(requests));
      return socket;
    };
    const [patient] = [send(400), await once(server, 'request')];
    const greedy = Array.from({ length: 20 }, () => send(1_000));
    await Promise.all(
      greedy.map(
        (socket) =>
          new Promise((resolve) => {
            socket.once('close', resolve);
          }),
      ),
    );
    const modest = send(10);
    const received = [patient, modest].map(receivedOn);
    while (received.flatMap((text) => statusesIn(text())).length < 410) {
      for (const res of taken.splice(0)) res.end('.');
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    expect([patient.destroyed, modest.destroyed]).to.deep.equal([false, false]);
    connections.close();
    server.close();
  });

  it('stops when asked to, after the answers of what had arrived', async () => {
    const burst = await connected();
    const received = receivedOn(burst);
    burst.write(request('/healthz').repeat(100));
    await once(burst, 'data');
    await Promise.all([rest.server.close(60_000), once(burst, 'close')]);
    const text = received();
    expect(statusesIn(text).length).to.equal(answered.length);
    const bodies = text
      .split('\r\n\r\n')
      .slice(1)
      .map((part) => part.split('HTTP/1.1')[0] ?? '');
    for (const answer of bodies) expect((JSON.parse(answer) as JsonObject)['code']).to.equal('OK');
  });
});
