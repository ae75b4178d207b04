/*
 * Goal: a WebSocket of the guarded client receives texts, ends once, and goes where the client may send only.
 * Method: a server on a real socket that sends arbitrary frames.
 */
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { HttpClient as GuardedClient } from '../../../adapters/http/http-client.js';
import type { TextSocketRequest } from '../../../adapters/http/web-sockets.js';
import { WebSocketPeer } from '../../providers/fakes/web-socket-peer.js';
import { closedAfterEach, listening, type Listening } from '../../fixtures/opened.js';
import { errorOf, localClient } from './client.js';

describe('WebSockets of the HTTP client', () => {
  const kept = closedAfterEach();
  let server: Server;
  let place: Listening;
  let url: string;
  let upgrades: number;
  let arrived: (peer: WebSocketPeer) => void;
  let authorization: string | undefined;
  let client: HttpClient;
  beforeEach(async () => {
    upgrades = 0;
    client = kept(localClient());
    server = createServer((_, response) => response.writeHead(200).end('no socket'));
    server.on('upgrade', (request, socket) => {
      upgrades += 1;
      ({ authorization } = request.headers);
      arrived(WebSocketPeer.accept(request, socket));
    });
    place = kept(await listening(server));
    url = `${place.url}/ws?clientId=a`;
  });

  /** Opens a WebSocket; returns both of its sides and its end. */
  async function opened(
    headers: Readonly<Record<string, string>> = {},
    limits: NonNullable<TextSocketRequest['limits']> = {},
  ) {
    const texts: string[] = [];
    let hear: () => void = () => undefined;
    const peer = new Promise<WebSocketPeer>((resolve) => void (arrived = resolve));
    let ends = 0;
    const ended = new Promise<void>((resolve) => {
      const onEnd = () => {
        ends += 1;
        resolve();
      };
      const onText = (text: string) => {
        texts.push(text);
        hear();
      };
      const socket = client.receive({ url, headers, limits, onText, onEnd });
      void peer.then(() => (close = () => socket.close()));
    });
    let close: () => void = () => undefined;
    return {
      peer: await peer,
      texts,
      ended,
      close: () => close(),
      endsSoFar: () => ends,
      heard: () => new Promise<void>((resolve) => void (hear = resolve)),
    };
  }

  /** Leaves upgrades without an answer; resolves when the connection of one has ended. */
  function untilUpgradeIsLeft(): Promise<void> {
    server.removeAllListeners('upgrade');
    return new Promise((resolve) => {
      arrivedUpgrade = new Promise((come) => {
        server.on('upgrade', (_, socket) => {
          socket.on('error', () => undefined).on('end', () => socket.end());
          socket.on('close', () => resolve());
          socket.resume();
          come();
        });
      });
    });
  }
  let arrivedUpgrade: Promise<void>;

  it('receive texts, pass over binary messages, and send the headers they are given', async () => {
    const { peer, texts, heard } = await opened({ authorization: 'Bearer x' });
    const next = heard();
    peer.send(new Uint8Array(100_000));
    peer.send('a lighthouse');
    await next;
    expect([texts, authorization, peer.url.search]).to.deep.equal([['a lighthouse'], 'Bearer x', '?clientId=a']);
  });

  for (const [how, end] of [
    ['closes it', (peer: WebSocketPeer) => peer.close()],
    ['cuts the connection', (peer: WebSocketPeer) => peer.cut()],
    ['sends what is no frame', (peer: WebSocketPeer) => peer.sendRaw(new Uint8Array(8).fill(255))],
    ['sends a text that is too long', (peer: WebSocketPeer) => peer.sendRaw(hugeFrame())],
  ] as const)
    it(`end once when the server ${how}`, async () => {
      const { peer, ended, endsSoFar, texts } = await opened();
      end(peer);
      await ended;
      expect([endsSoFar(), texts]).to.deep.equal([1, []]);
    });

  /** Resolves with the end of a WebSocket at this address. */
  const untilEnd = (address: string, by = client, limits: NonNullable<TextSocketRequest['limits']> = {}) =>
    new Promise<void>((resolve) => {
      by.receive({ url: address, limits, onText: () => undefined, onEnd: resolve });
    });

  it('end when there is no server, and no WebSocket at one', async () => {
    await untilEnd('http://127.0.0.1:1/ws');
    server.removeAllListeners('upgrade');
    for (const address of [url, `${place.url}/`]) await untilEnd(address);
  });

  it('go to no address that the client may not call', async () => {
    await untilEnd(url, kept(new GuardedClient()));
    expect(upgrades).to.equal(0);
    const receiving = async () =>
      client.receive({ url: 'ftp://127.0.0.1/', onText: () => undefined, onEnd: () => undefined });
    expect((await errorOf(receiving())).kind).to.equal('refused-address');
  });

  it('say nothing more once they are closed, and close with their client', async () => {
    const first = await opened();
    const left = new Promise<void>((resolve) => first.peer.onClose(resolve));
    first.close();
    await left;
    const second = await opened();
    const gone = new Promise<void>((resolve) => second.peer.onClose(resolve));
    await client.close();
    await gone;
    expect(first.endsSoFar()).to.equal(0);
  });

  it('are given up when the server does not answer the upgrade in time', async () => {
    const gone = untilUpgradeIsLeft();
    await untilEnd(url, client, { upgradeTimeoutMs: 20 });
    await gone;
  });

  for (const who of ['socket', 'client'] as const)
    it(`end at once when the ${who} is closed before the upgrade is answered`, async () => {
      const gone = untilUpgradeIsLeft();
      let ends = 0;
      const socket = client.receive({ url, onText: () => undefined, onEnd: () => (ends += 1) });
      await arrivedUpgrade;
      await (who === 'client' ? client.close() : Promise.resolve(socket.close()));
      await gone;
      expect(ends).to.equal(who === 'client' ? 1 : 0);
    });

  it('are given up when the server does not even answer a ping', async () => {
    const { peer, ended, endsSoFar } = await opened({}, { silenceTimeoutMs: 20 });
    const gone = new Promise<void>((resolve) => peer.onClose(resolve));
    peer.isDeaf = true;
    await ended;
    await gone;
    expect([endsSoFar(), peer.pings]).to.deep.equal([1, 1]);
  });

  it('stay while the server has nothing to say, and answers pings', async () => {
    const { peer, endsSoFar, heard, texts } = await opened({}, { silenceTimeoutMs: 5 });
    while (peer.pings < 10) await sleep(1);
    const next = heard();
    peer.send('a lighthouse');
    await next;
    expect([endsSoFar(), texts]).to.deep.equal([0, ['a lighthouse']]);
  });

  it('are given up when the server says that it closes, and does not', async () => {
    const { peer, ended } = await opened({}, { silenceTimeoutMs: 20 });
    peer.isDeaf = true;
    const gone = new Promise<void>((resolve) => peer.onClose(resolve));
    peer.sendRaw(Uint8Array.of(0x88, 0));
    await ended;
    await gone;
  });

  for (const who of ['socket', 'client'] as const)
    it(`are cut when the ${who} is closed and the server does not close its side`, async () => {
      const { peer, close, endsSoFar } = await opened({}, { closeTimeoutMs: 20 });
      const gone = new Promise<void>((resolve) => peer.onClose(resolve));
      peer.isDeaf = true;
      await (who === 'client' ? client.close() : Promise.resolve(close()));
      await gone;
      expect(endsSoFar()).to.equal(who === 'client' ? 1 : 0);
    });
});

/** The head of a frame of 1 GiB, and none of its bytes. */
function hugeFrame(): Uint8Array {
  const head = Buffer.alloc(10);
  head[0] = 0x81;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(2 ** 30), 2);
  return head;
}
