/*
 * Goal: certificates are always verified, and a redirect is followed only where it was allowed, with nothing of ours for strangers.
 * Method: real TLS servers with certificates of an authority made for the test. Each keeps what it was asked.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { HttpClient, type HttpClientOptions } from '../../../adapters/http/http-client.js';
import { Authority, type Pair } from '../../fixtures/authority.js';
import { orSkip } from '../../servers/servers.js';
import { errorOf, get, post } from './client.js';
import { answering, RawServer } from './raw-server.js';

const TRUSTING_PROGRAM = fileURLToPath(new URL('trusting.js', import.meta.url));

interface TlsServer {
  readonly port: number;
  readonly asked: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  readonly close: () => Promise<void>;
}

describe('outgoing TLS and redirects', () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-http-'));
  const opened: { close(): Promise<unknown> }[] = [];
  let authority: Authority;
  let pair: Pair;
  before(async function () {
    authority = await orSkip(this, Authority.make(folder, 'test-authority'));
    pair = authority.issue({
      names: ['DNS:one.example', 'DNS:two.example'],
      commonName: 'one.example',
      usage: 'serverAuth',
    });
  });
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  async function serving(
    answer: (path: string, response: ServerResponse) => void,
    { cert, key }: Pair = pair,
  ): Promise<TlsServer> {
    const asked: TlsServer['asked'] = [];
    const server = createServer({ cert, key }, ({ url = '', headers }, response) => {
      asked.push({ path: url, headers });
      answer(url, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const serves = {
      port: (server.address() as AddressInfo).port,
      asked,
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    };
    opened.push(serves);
    return serves;
  }

  /**
   * Resets each connection after its handshake. In TLS 1.2 the server's message is the last: it is sent when the handshake
   * ends here, and the reset follows before this process reads either.
   */
  async function resettingAfterHandshake() {
    let handshakes = 0;
    const sockets: Socket[] = [];
    const server = createTlsServer({ ...pair, maxVersion: 'TLSv1.2' }, () => {
      handshakes += 1;
      setImmediate(() => {
        for (const socket of sockets) socket.resetAndDestroy();
      });
    });
    server.on('connection', (socket: Socket) => sockets.push(socket));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    opened.push({ close: async () => void server.close() });
    return { port: (server.address() as AddressInfo).port, handshakes: () => handshakes };
  }

  function client(options: HttpClientOptions = {}): HttpClient {
    const made = new HttpClient({
      allow: ['127.0.0.0/8'],
      extraCa: [authority.cert.toString()],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      ...options,
    });
    opened.push(made);
    return made;
  }

  const ok = (_: string, response: ServerResponse) => void response.end('ok');
  const to =
    (location: string, status = 302) =>
    (_: string, response: ServerResponse) =>
      void response.writeHead(status, { location }).end();

  describe('certificates', () => {
    it('of a listed authority are trusted, for the names they have', async () => {
      const server = await serving(ok);
      expect(String(await (await get(client(), `https://one.example:${server.port}/`)).bytes())).to.equal('ok');
      expect(String(await (await get(client(), `https://TWO.example.:${server.port}/`)).bytes())).to.equal('ok');
      expect(await errorOf(post(client(), `https://three.example:${server.port}/`))).to.include({
        kind: 'not-connected',
        requestSent: false,
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
      expect(server.asked).to.have.length(2);
    });

    it('of an unknown authority, or out of date, are refused before anything is sent', async () => {
      const server = await serving(ok);
      expect(await errorOf(post(client({ extraCa: [] }), `https://one.example:${server.port}/`))).to.include({
        kind: 'not-connected',
        requestSent: false,
      });
      const old = await serving(ok, authority.issue({ names: ['DNS:one.example'], usage: 'serverAuth', days: -1 }));
      expect(await errorOf(post(client(), `https://one.example:${old.port}/`))).to.include({
        kind: 'not-connected',
        requestSent: false,
        code: 'CERT_HAS_EXPIRED',
      });
      expect([server.asked, old.asked]).to.deep.equal([[], []]);
    });

    it('are verified for listed hosts too, even if the environment disables it', async () => {
      const server = await serving(ok);
      const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        const error = await errorOf(
          post(client({ extraCa: [], allow: ['one.example'] }), `https://one.example:${server.port}/`),
        );
        expect(error).to.include({ kind: 'not-connected', requestSent: false });
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
      opened.push(plain, reset, closed);
      for (const server of [plain, reset, closed]) {
        const error = await errorOf(
          post(client(), `https://one.example:${server.port}/`, {
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
      const error = await errorOf(post(client(), `https://one.example:${server.port}/`));
      expect(error).to.include({ kind: 'not-connected', requestSent: false, code: 'ECONNRESET' });
      expect(server.handshakes()).to.equal(1);
    });

    it('of an authority that NODE_EXTRA_CA_CERTS adds are trusted beside a listed one', async () => {
      const added = await Authority.make(folder, 'added-authority');
      const [listed, other] = [
        await serving(ok),
        await serving(ok, added.issue({ names: ['DNS:one.example'], usage: 'serverAuth' })),
      ];
      const urls = [listed, other].map(({ port }) => `https://one.example:${port}/`);
      const outcomes = async (extraCa: string, environment: string): Promise<unknown> => {
        const { stdout } = await promisify(execFile)(process.execPath, [TRUSTING_PROGRAM, extraCa, ...urls], {
          env: { ...process.env, NODE_EXTRA_CA_CERTS: environment },
        });
        return JSON.parse(stdout) as unknown;
      };
      expect(await outcomes(authority.certFile, added.certFile)).to.deep.equal([200, 200]);
      expect(await outcomes('', added.certFile)).to.deep.equal(['not-connected', 200]);
      expect(await outcomes(authority.certFile, '')).to.deep.equal([200, 'not-connected']);
      expect(await outcomes(authority.certFile, join(folder, 'missing.pem'))).to.deep.equal([200, 'not-connected']);
    });

    it('are verified without any proxy that the environment names', async () => {
      const proxy = await RawServer.open(() => undefined);
      opened.push(proxy);
      const server = await serving(ok);
      const names = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY'];
      for (const name of names) process.env[name] = proxy.url;
      try {
        expect((await get(client(), `https://one.example:${server.port}/`)).status).to.equal(200);
      } finally {
        for (const name of names) delete process.env[name];
      }
      expect(proxy.connections).to.have.length(0);
    });
  });

  describe('redirects', () => {
    const credentials = {
      'authorization': 'Bearer s3cret',
      'cookie': 'session=s3cret',
      'x-api-key': 's3cret',
      'accept': 'application/json',
    };

    it('are returned like other answers unless they are to be followed', async () => {
      const server = await serving(to('https://two.example/'));
      const answer = await get(client(), `https://one.example:${server.port}/`);
      expect([answer.status, answer.header('Location')]).to.deep.equal([302, 'https://two.example/']);
      answer.discard();
      expect(server.asked).to.have.length(1);
    });

    it('within one origin keep the headers', async () => {
      const server = await serving((path, response) => (path === '/a' ? to('/b')(path, response) : ok(path, response)));
      expect(
        (await get(client(), `https://one.example:${server.port}/a`, { headers: credentials, maxRedirects: 1 })).status,
      ).to.equal(200);
      expect(server.asked.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
      for (const { headers } of server.asked) expect(headers).to.include(credentials);
    });

    it('drop all credentials on the way to another origin', async () => {
      const second = await serving(ok);
      for (const location of [`https://two.example:${second.port}/b`, `//one.example:${second.port}/b`]) {
        const first = await serving(to(location));
        const redirectHosts = [`.example:${second.port}`];
        expect(
          (
            await get(client(), `https://one.example:${first.port}/a`, {
              headers: credentials,
              maxRedirects: 1,
              redirectHosts,
            })
          ).status,
        ).to.equal(200);
      }
      expect(second.asked).to.have.length(2);
      for (const { headers } of second.asked) {
        expect(headers).to.include({ accept: 'application/json' });
        expect(JSON.stringify(headers)).to.not.include('s3cret');
      }
    });

    it('are refused for a request with a body, which another origin would receive', async () => {
      const body = '{"api_key":"s3cret"}';
      const asked = get(client(), 'https://one.example/', { body, maxRedirects: 1 });
      expect(await asked.catch((error: unknown) => error)).to.be.an.instanceOf(RangeError);
    });

    it('do not restore the credentials when they return to the first origin', async () => {
      let returning: string;
      const second = await serving((path, response) => to(returning)(path, response));
      const first = await serving((path, response) =>
        path === '/a' ? to(`https://two.example:${second.port}/`)(path, response) : ok(path, response),
      );
      returning = `https://one.example:${first.port}/c`;
      const redirectHosts = [`one.example:${first.port}`, `two.example:${second.port}`];
      const request = { headers: credentials, maxRedirects: 2, redirectHosts };
      expect((await get(client(), `https://one.example:${first.port}/a`, request)).status).to.equal(200);
      expect(first.asked[1]?.headers).to.not.have.any.keys('authorization', 'cookie', 'x-api-key');
    });

    it('are followed up to the limit, and no further', async () => {
      const server = await serving((path, response) => to(`/${Number(path.slice(1)) + 1}`)(path, response));
      const error = await errorOf(get(client(), `https://one.example:${server.port}/0`, { maxRedirects: 3 }));
      expect(error).to.include({ kind: 'bad-answer', requestSent: true });
      expect(server.asked.map(({ path }) => path)).to.deep.equal(['/0', '/1', '/2', '/3']);
    });

    it('are followed only to allowed targets', async () => {
      for (const [location, kind] of [
        ['https://10.0.0.1/', 'refused-address'],
        ['https://[::1]/', 'refused-address'],
        ['file:///etc/passwd', 'refused-address'],
        ['https://user:pass@two.example/', 'refused-address'],
        ['https://[/', 'refused-address'],
        ['http://two.example/', 'bad-answer'],
      ] as const) {
        const server = await serving(to(location));
        expect(
          await errorOf(get(client(), `https://one.example:${server.port}/`, { maxRedirects: 5 })),
          location,
        ).to.include({ kind, requestSent: true });
      }
    });

    it('are followed to listed hosts alone, by names that end at a dot', async () => {
      const second = await serving(ok);
      const first = await serving(to(`https://two.example:${second.port}/`));
      const follow = (...redirectHosts: string[]) =>
        get(client(), `https://one.example:${first.port}/`, { maxRedirects: 1, redirectHosts });
      for (const listed of [[], ['two.example'], [`.two.example:${second.port}`], [`.wo.example:${second.port}`]]) {
        const error = await errorOf(follow(...listed));
        expect([error.kind, error.requestSent], listed.join()).to.deep.equal(['refused-address', true]);
      }
      expect(second.asked).to.deep.equal([]);
      for (const listed of [`two.example:${second.port}`, `.example:${second.port}`])
        expect((await follow(listed)).status).to.equal(200);
    });

    it('to a listed host are refused while its name leads to an address that is not public', async () => {
      const resolve = async (name: string) => [
        { address: name === 'one.example' ? '127.0.0.1' : '10.0.0.1', family: 4 },
      ];
      const first = await serving(to('https://two.example/'));
      const error = await errorOf(
        get(client({ resolve }), `https://one.example:${first.port}/`, {
          maxRedirects: 1,
          redirectHosts: ['.example'],
        }),
      );
      expect(error).to.include({ kind: 'refused-address', requestSent: true });
    });

    it('are not followed from a server without TLS', async () => {
      const second = await serving(ok);
      const first = await RawServer.open(
        answering(`HTTP/1.1 302 Found\r\nlocation: https://two.example:${second.port}/\r\ncontent-length: 0\r\n\r\n`),
      );
      opened.push(first);
      expect(await errorOf(get(client(), first.url, { maxRedirects: 5 }))).to.include({ kind: 'bad-answer' });
      expect(second.asked).to.deep.equal([]);
    });

    it('share the time of one call', async () => {
      const server = await serving((path, response) => to(`/${Number(path.slice(1)) + 1}`)(path, response));
      const error = await errorOf(
        get(client(), `https://one.example:${server.port}/0`, {
          maxRedirects: 1_000_000,
          limits: { totalTimeoutMs: 300 },
        }),
      );
      expect(error).to.include({ kind: 'timed-out', phase: 'total' });
    });

    it('end when the call is aborted between two of them', async () => {
      const abort = new AbortController();
      const server = await serving((path, response) => {
        if (path === '/5') abort.abort();
        to(`/${Number(path.slice(1)) + 1}`)(path, response);
      });
      const error = await errorOf(
        get(client(), `https://one.example:${server.port}/0`, { maxRedirects: 1_000, signal: abort.signal }),
      );
      expect(error).to.include({ kind: 'aborted', requestSent: true });
      expect(server.asked.length).to.be.below(8);
    });

    it('are refused for requests that change something', async () => {
      const failure = await post(client(), 'https://one.example/', { maxRedirects: 1 }).catch(
        (error: unknown) => error,
      );
      expect(failure).to.be.instanceOf(RangeError);
    });
  });
});
