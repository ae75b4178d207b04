/*
 * Goal: certificates are always verified, before anything is sent.
 * Method: real TLS servers with certificates of an authority made for the test. Each records the requests it receives.
 */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Authority } from '../../fixtures/authority.js';
import { listening } from '../../fixtures/opened.js';
import { orSkip } from '../../servers/servers.js';
import { errorOf, get, post } from './client.js';
import { answering, RawServer } from './raw-server.js';
import { ok, TlsServers } from './tls-servers.js';

const NOT_CONNECTED = { kind: 'not-connected', requestSent: false } as const;
const TRUSTING_PROGRAM = fileURLToPath(new URL('trusting.js', import.meta.url));

describe('the certificates of outgoing requests', () => {
  let tls: TlsServers;
  before(async function () {
    tls = await orSkip(this, TlsServers.make());
  });
  afterEach(() => tls.close());
  after(() => tls.remove());

  /**
   * Resets each connection after its handshake. In TLS 1.2 the server's message is the last: it is sent when the handshake
   * ends here, and the reset follows before this process reads either.
   */
  async function resettingAfterHandshake() {
    let handshakes = 0;
    const sockets: Socket[] = [];
    const server = createTlsServer({ ...tls.pair, maxVersion: 'TLSv1.2' }, () => {
      handshakes += 1;
      setImmediate(() => {
        for (const socket of sockets) socket.resetAndDestroy();
      });
    });
    server.on('connection', (socket: Socket) => sockets.push(socket));
    return { port: tls.keep(await listening(server)).port, handshakes: () => handshakes };
  }

  it('of a listed authority are trusted, for the names they have', async () => {
    const server = await tls.serving(ok);
    expect(String(await (await get(tls.client(), `https://one.example:${server.port}/`)).bytes())).to.equal('ok');
    expect(String(await (await get(tls.client(), `https://TWO.example.:${server.port}/`)).bytes())).to.equal('ok');
    const error = await errorOf(post(tls.client(), `https://three.example:${server.port}/`));
    expect(error).to.include({ ...NOT_CONNECTED, code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(server.asked).to.have.length(2);
  });

  it('of an unknown authority, or out of date, are refused before anything is sent', async () => {
    const server = await tls.serving(ok);
    const distrusting = tls.client({ extraCa: [] });
    expect(await errorOf(post(distrusting, `https://one.example:${server.port}/`))).to.include(NOT_CONNECTED);
    const expired = tls.authority.issue({ names: ['DNS:one.example'], usage: 'serverAuth', days: -1 });
    const old = await tls.serving(ok, expired);
    const error = await errorOf(post(tls.client(), `https://one.example:${old.port}/`));
    expect(error).to.include({ ...NOT_CONNECTED, code: 'CERT_HAS_EXPIRED' });
    expect([server.asked, old.asked]).to.deep.equal([[], []]);
  });

  it('are verified for listed hosts too, even if the environment disables it', async () => {
    const server = await tls.serving(ok);
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const error = await errorOf(
        post(tls.client({ extraCa: [], allow: ['one.example'] }), `https://one.example:${server.port}/`),
      );
      expect(error).to.include(NOT_CONNECTED);
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
    expect(server.asked).to.deep.equal([]);
  });

  it('are asked for: a server that speaks no TLS, or breaks off within its beginning, gets nothing', async () => {
    const plain = await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    const reset = await RawServer.open(({ socket }) => void socket.once('data', () => socket.resetAndDestroy()));
    const closed = await RawServer.open(({ socket }) => void socket.end());
    for (const one of [plain, reset, closed]) tls.keep(one);
    for (const server of [plain, reset, closed]) {
      const error = await errorOf(
        post(tls.client(), `https://one.example:${server.port}/`, {
          headers: { authorization: 'Bearer s3cret' },
          limits: { connectTimeoutMs: 300 },
        }),
      );
      expect(['not-connected', 'timed-out']).to.include(error.kind);
      expect(error.requestSent).to.equal(false);
      expect(server.received).to.not.include('s3cret');
    }
  });

  it('are not blamed when the connection is reset after the handshake', async () => {
    const server = await resettingAfterHandshake();
    const error = await errorOf(post(tls.client(), `https://one.example:${server.port}/`));
    expect(error).to.include({ ...NOT_CONNECTED, code: 'ECONNRESET' });
    expect(server.handshakes()).to.equal(1);
  });

  it('of an authority that NODE_EXTRA_CA_CERTS adds are trusted beside a listed one', async () => {
    const added = await Authority.make(tls.folder, 'added-authority');
    const [listed, other] = [
      await tls.serving(ok),
      await tls.serving(ok, added.issue({ names: ['DNS:one.example'], usage: 'serverAuth' })),
    ];
    const urls = [listed, other].map(({ port }) => `https://one.example:${port}/`);
    const outcomes = async (extraCa: string, environment: string): Promise<unknown> => {
      const { stdout } = await promisify(execFile)(process.execPath, [TRUSTING_PROGRAM, extraCa, ...urls], {
        env: { ...process.env, NODE_EXTRA_CA_CERTS: environment },
      });
      return JSON.parse(stdout) as unknown;
    };
    expect(await outcomes(tls.authority.certFile, added.certFile)).to.deep.equal([200, 200]);
    expect(await outcomes('', added.certFile)).to.deep.equal(['not-connected', 200]);
    expect(await outcomes(tls.authority.certFile, '')).to.deep.equal([200, 'not-connected']);
    const missing = join(tls.folder, 'missing.pem');
    expect(await outcomes(tls.authority.certFile, missing)).to.deep.equal([200, 'not-connected']);
  });

  it('are verified without any proxy that the environment names', async () => {
    const proxy = await RawServer.open(() => undefined);
    tls.keep(proxy);
    const server = await tls.serving(ok);
    const names = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY'];
    for (const name of names) process.env[name] = proxy.url;
    try {
      expect((await get(tls.client(), `https://one.example:${server.port}/`)).status).to.equal(200);
    } finally {
      for (const name of names) delete process.env[name];
    }
    expect(proxy.connections).to.have.length(0);
  });
});
