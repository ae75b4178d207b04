import { expect } from 'chai';
import { createServer } from 'node:https';
import { readTarget } from '../../../../adapters/http/allow-list.js';
import { HttpClient, type HttpClientOptions } from '../../../../adapters/http/http-client.js';
import { type Environment, Proxies } from '../../../../adapters/http/proxies.js';
import { submit } from '../../../../adapters/http/submission-outcome.js';
import { Authority, type Pair } from '../../../fixtures/authority.js';
import { closedAfterEach, deferred, folderForSuite, listening, untilClosed } from '../../../fixtures/opened.js';
import { orSkip } from '../../../servers/servers.js';
import { errorOf, get, post, UNABORTED } from '../client.js';
import { answering, onceReceived, RawServer } from '../raw-server.js';
import { ConnectProxy, type Refusing } from './connect-proxy.js';

/*
 * Goal: the variables of the environment choose the proxy that other programs would use with them, and never show a secret.
 * Method: tables of variables and of targets, held against the rules of curl.
 */

const proxyFor = (environment: Environment, url: string) => new Proxies(environment).for(readTarget(url));
const portFor = (environment: Environment, url = 'https://a.example/') => proxyFor(environment, url)?.port;

describe('the proxies of the environment', () => {
  it('are chosen by the scheme of the target, lower case before upper case', () => {
    for (const [environment, https, http] of [
      [{}, undefined, undefined],
      [{ HTTPS_PROXY: 'http://p:1' }, '1', undefined],
      [{ HTTP_PROXY: 'http://p:2' }, undefined, '2'],
      [{ https_proxy: 'http://p:1', HTTPS_PROXY: 'http://p:9' }, '1', undefined],
      [{ http_proxy: 'http://p:2', HTTP_PROXY: 'http://p:9' }, undefined, '2'],
      [{ https_proxy: '', HTTPS_PROXY: 'http://p:1' }, '1', undefined],
      [{ all_proxy: 'http://p:3' }, '3', '3'],
      [{ ALL_PROXY: 'http://p:3', HTTPS_PROXY: 'http://p:1' }, '1', '3'],
    ] as const)
      expect(
        [portFor(environment), portFor(environment, 'http://a.example/')],
        JSON.stringify(environment),
      ).to.deep.equal([https, http]);
  });

  it('are read with their scheme, port and credentials', () => {
    const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
    for (const [value, protocol, hostname, port, more] of [
      ['http://proxy.internal:3128', 'http:', 'proxy.internal', '3128', {}],
      ['proxy.internal:3128', 'http:', 'proxy.internal', '3128', {}],
      ['proxy.internal', 'http:', 'proxy.internal', '80', {}],
      ['https://Proxy.internal/', 'https:', 'proxy.internal', '443', {}],
      ['http://[::1]:3128', 'http:', '::1', '3128', {}],
      ['http://us%40er:p%3Aw@10.0.0.1:3128', 'http:', '10.0.0.1', '3128', basic('us@er:p:w')],
      ['http://token@p:1', 'http:', 'p', '1', basic('token:')],
    ] as const) {
      const proxy = proxyFor({ HTTPS_PROXY: value }, 'https://a.example/');
      expect(proxy, value).to.deep.equal({ protocol, hostname, port, ...more });
    }
  });

  it('are refused where they are none, by the name of the variable alone', () => {
    for (const value of ['socks5://s3cret@p:1', 'ftp://s3cret', 'http://', 'http://s3cret:%zz@p:1', 'http://[s3cret'])
      expect(() => new Proxies({ https_proxy: value }), value)
        .to.throw(RangeError, /^https_proxy /)
        .with.property('message')
        .that.does.not.include('s3cret');
  });

  it('are passed by for what NO_PROXY lists', () => {
    for (const [list, url, isDirect] of [
      ['*', 'https://a.example/', true],
      ['a.example', 'https://a.example/', true],
      ['a.example', 'https://b.a.example/', true],
      ['.a.example', 'https://b.a.example/', true],
      ['.a.example', 'https://a.example/', true],
      ['*.a.example', 'https://b.a.example/', true],
      ['a.example', 'https://ba.example/', false],
      ['a.example', 'https://a.example.net/', false],
      ['A.EXAMPLE.', 'https://a.example/', true],
      ['x.example , a.example', 'https://a.example/', true],
      ['x.example a.example', 'https://a.example/', true],
      ['a.example:8443', 'https://a.example:8443/', true],
      ['a.example:8443', 'https://a.example/', false],
      ['10.0.0.5', 'http://10.0.0.5:8188/', true],
      ['10.0.0.5:8188', 'http://10.0.0.5:8188/', true],
      ['10.0.0.5:8188', 'http://10.0.0.5:8189/', false],
      ['0.0.5', 'http://10.0.0.5/', false],
      ['10.0.0.0/8', 'http://10.9.9.9/', true],
      ['10.0.0.0/8', 'http://11.0.0.1/', false],
      ['10.0.0.0/8', 'https://a.example/', false],
      ['::1', 'http://[::1]/', true],
      ['[::1]:80', 'http://[0:0::1]/', true],
      ['fd00::/8', 'http://[fd12::1]/', true],
      ['localhost', 'http://127.0.0.1/', false],
      ['', 'https://a.example/', false],
      ['10.0.0.0/99,a b:c,[,,', 'https://a.example/', false],
    ] as const) {
      const environment = { ALL_PROXY: 'http://p:1', NO_PROXY: list };
      expect(proxyFor(environment, url) === undefined, `${list} for ${url}`).to.equal(isDirect);
    }
    expect(portFor({ ALL_PROXY: 'http://p:1', NO_PROXY: 'a.example', no_proxy: 'b.example' })).to.equal('1');
    expect(portFor({ ALL_PROXY: 'http://p:1', NO_PROXY: 'a.example', no_proxy: '' })).to.equal(undefined);
  });
});

/*
 * Goal: behind a proxy a request is as safe as without one: TLS is verified with the target itself, forbidden targets
 * are not called, and a request counts as sent only once the tunnel is open.
 * Method: a real proxy that opens tunnels, refuses them in every way, or listens in; real TLS servers behind it.
 */

const NOT_CONNECTED = { kind: 'not-connected', requestSent: false } as const;
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('requests through a proxy', () => {
  const folder = folderForSuite('proxy');
  const kept = closedAfterEach();
  let authority: Authority;
  let pair: Pair;
  before(async function () {
    authority = await orSkip(this, Authority.make(folder, 'proxy-authority'));
    pair = authority.issue({ names: ['DNS:one.example', 'IP:127.0.0.1'], commonName: 'one', usage: 'serverAuth' });
  });

  async function serving(served: Pair = pair) {
    const asked: string[] = [];
    const server = createServer({ cert: served.cert, key: served.key }, ({ url = '', headers, socket }, response) => {
      asked.push(`${url} ${headers.authorization ?? ''}${headers['proxy-authorization'] ?? ''}`);
      if (url === '/reset') socket.destroy();
      else response.end('ok');
    });
    return { port: kept(await listening(server)).port, asked };
  }

  /** No name resolves here, so every host is reached through the proxy. */
  function client(proxy: string, options: HttpClientOptions = {}, noProxy = ''): HttpClient {
    return kept(
      new HttpClient({
        proxies: new Proxies({ HTTPS_PROXY: proxy, HTTP_PROXY: proxy, NO_PROXY: noProxy }),
        extraCa: [authority.cert.toString()],
        resolve: async () => [],
        ...options,
      }),
    );
  }

  it('reach their target by name, which the proxy resolves, and nobody on the way reads them', async () => {
    const server = await serving();
    const proxy = kept(await ConnectProxy.open());
    const by = client(proxy.url.replace('//', '//user:s3cret@'));
    const headers = { authorization: 'Bearer k3y' };
    for (const send of [get, post]) {
      const answer = await send(by, `https://one.example:${server.port}/a`, { headers });
      expect(String(await answer.bytes())).to.equal('ok');
    }
    expect(server.asked).to.deep.equal(['/a Bearer k3y', '/a Bearer k3y']);
    const expected = `Basic ${Buffer.from('user:s3cret').toString('base64')}`;
    expect(proxy.asked).to.have.length(2);
    for (const { authority: host, headers: sent } of proxy.asked) {
      expect(host).to.equal(`one.example:${server.port}`);
      expect(sent).to.include({ 'host': host, 'proxy-authorization': expected }).and.not.have.property('authorization');
    }
    expect(proxy.received.length).to.be.above(0);
    expect(proxy.received).to.not.include('k3y');
  });

  it('go through a proxy that is called over TLS, whose certificate is verified', async () => {
    const server = await serving();
    const proxy = kept(await ConnectProxy.open(undefined, pair));
    expect((await post(client(proxy.url), `https://one.example:${server.port}/`)).status).to.equal(200);
    const distrusting = post(client(proxy.url, { extraCa: [] }), 'https://one.example/');
    expect(await errorOf(distrusting)).to.include(NOT_CONNECTED);
    expect(proxy.asked).to.have.length(1);
  });

  it('are not answered by a proxy that takes the place of the target', async () => {
    const other = await Authority.make(folder, 'other-authority');
    const impostor = await serving(other.issue({ names: ['DNS:one.example'], usage: 'serverAuth' }));
    const proxy = kept(await ConnectProxy.open());
    const error = await errorOf(post(client(proxy.url), `https://one.example:${impostor.port}/`));
    expect(error).to.include(NOT_CONNECTED);
    const misnamed = await serving();
    const named = await errorOf(post(client(proxy.url), `https://two.example:${misnamed.port}/`));
    expect(named).to.include({ ...NOT_CONNECTED, code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect([...impostor.asked, ...misnamed.asked]).to.deep.equal([]);
  });

  const answer =
    (text: string): Refusing =>
    (socket) =>
      void socket.end(text);
  for (const [what, refusing, code] of [
    ['407', answer('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'), 'PROXY_ANSWERED_407'],
    ['403', answer('HTTP/1.1 403 Forbidden\r\ncontent-length: 3\r\n\r\nno!'), 'PROXY_ANSWERED_403'],
    ['502', answer('HTTP/1.1 502 Bad Gateway\r\n\r\n'), 'PROXY_ANSWERED_502'],
    ['a redirect', answer('HTTP/1.1 302 Found\r\nlocation: https://two.example/\r\n\r\n'), 'PROXY_ANSWERED_302'],
    ['more than an answer', (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nmore'), 'PROXY_ANSWER_INVALID'],
    ['what is no HTTP', answer('SSH-2.0-OpenSSH_9.2\r\n\r\n'), 'PROXY_HPE_INVALID_CONSTANT'],
    ['nothing, and closes', (socket) => void socket.destroy(), 'PROXY_ECONNRESET'],
  ] as const satisfies readonly (readonly [string, Refusing, string])[]) {
    it(`are certainly not accepted when the proxy answers ${what}`, async () => {
      const proxy = kept(await ConnectProxy.open(refusing));
      const by = client(proxy.url.replace('//', '//user:s3cret@'));
      const error = await errorOf(post(by, 'https://one.example/a'));
      expect(error).to.include({ ...NOT_CONNECTED, code });
      expect(`${error.message}${error.stack ?? ''}${JSON.stringify(error)}`).to.not.include('s3cret');
      const request = { method: 'POST', url: 'https://one.example/', body: '{}', signal: UNABORTED } as const;
      expect(await submit(by, request)).to.deep.equal({ outcome: 'refused', because: 'unreachable' });
      expect(proxy.asked).to.have.length(2);
    });
  }

  it('are certainly not accepted when the proxy is down or does not answer in time', async () => {
    const down = await ConnectProxy.open();
    const { url } = down;
    await down.close();
    const refused = await errorOf(post(client(url), 'https://one.example/'));
    expect(refused).to.include({ ...NOT_CONNECTED, code: 'PROXY_ECONNREFUSED' });
    const silent = kept(await ConnectProxy.open(() => undefined));
    const hasty = client(silent.url, { limits: { connectTimeoutMs: 50 } });
    const late = await errorOf(post(hasty, 'https://one.example/'));
    expect(late).to.include({ kind: 'timed-out', phase: 'connect', requestSent: false });
  });

  it('are of unknown outcome when the connection is lost behind the tunnel', async () => {
    const server = await serving();
    const proxy = kept(await ConnectProxy.open());
    const error = await errorOf(post(client(proxy.url), `https://one.example:${server.port}/reset`));
    expect(error).to.include({ kind: 'unknown-outcome', requestSent: true });
    expect([server.asked.length, proxy.asked.length]).to.deep.equal([1, 1]);
  });

  it('close their connection to the proxy when they are aborted before the tunnel stands', async () => {
    const closed = deferred();
    const abort = new AbortController();
    const proxy = kept(
      await ConnectProxy.open((socket) => {
        socket.once('close', () => closed.resolve());
        socket.resume();
        abort.abort();
      }),
    );
    const error = await errorOf(post(client(proxy.url), 'https://one.example/', { signal: abort.signal }));
    expect(error).to.include({ kind: 'aborted', requestSent: false });
    await closed.promise;
  });

  it('are refused for special addresses and names of a local network, unless they are listed', async () => {
    const proxy = kept(await ConnectProxy.open(answer('HTTP/1.1 502 Bad Gateway\r\n\r\n')));
    const addresses = ['10.0.0.1', '169.254.169.254', '[::1]', '2130706433', 'localhost', 'a.localhost', 'intranet'];
    const names = ['printer.local', 'metadata.google.internal', 'nas.home.arpa'];
    const urls = ['http://one.example/', ...[...addresses, ...names].map((host) => `https://${host}/`)];
    const refused = { kind: 'refused-address', requestSent: false };
    for (const url of urls) expect(await errorOf(post(client(proxy.url), url)), url).to.include(refused);
    expect(proxy.asked).to.have.length(0);
    const listed = ['10.0.0.0/8', '169.254.169.254', '127.0.0.0/8', '::1', 'localhost', 'a.localhost', 'intranet'];
    const listing = client(proxy.url, { allow: [...listed, ...names, 'one.example'] });
    for (const url of urls) expect(await errorOf(post(listing, url)), url).to.include({ kind: 'not-connected' });
    expect(proxy.asked).to.have.length(urls.length);
  });

  it('go directly to what NO_PROXY lists, with addresses checked', async () => {
    const server = await serving();
    const proxy = kept(await ConnectProxy.open());
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const listed = client(proxy.url, { allow: ['127.0.0.0/8'], resolve }, 'one.example');
    expect((await get(listed, `https://one.example:${server.port}/`)).status).to.equal(200);
    const unlisted = client(proxy.url, { resolve }, 'one.example');
    expect(await errorOf(get(unlisted, `https://one.example:${server.port}/`))).to.include({ kind: 'refused-address' });
    expect(proxy.asked).to.have.length(0);
  });

  it('without TLS go through a tunnel as well, so that an answer is always the one of the target', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const proxy = kept(await ConnectProxy.open());
    const by = client(proxy.url, { allow: ['one.example'] });
    expect(String(await (await get(by, `http://one.example:${server.port}/`)).bytes())).to.equal('ok');
    expect(proxy.asked[0]?.authority).to.equal(`one.example:${server.port}`);
    expect(server.received)
      .to.match(/^GET \/ HTTP/)
      .and.not.include('proxy');
  });

  it('keep a tunnel for the next request, except for submissions', async () => {
    const server = await serving();
    const proxy = kept(await ConnectProxy.open());
    const by = client(proxy.url, { maxConnectionsPerOrigin: 1 });
    for (let count = 0; count < 3; count += 1) await (await get(by, `https://one.example:${server.port}/`)).bytes();
    expect(proxy.asked).to.have.length(1);
    await (await post(by, `https://one.example:${server.port}/`)).bytes();
    expect(proxy.asked).to.have.length(2);
  });

  it('never arrive whole when they are aborted behind the tunnel', async () => {
    const abort = new AbortController();
    const server = kept(await RawServer.open((connection) => onceReceived(connection, 'first', () => abort.abort())));
    const proxy = kept(await ConnectProxy.open());
    const held = deferred();
    async function* body() {
      yield Buffer.from('first');
      await held.promise;
      yield Buffer.from('second');
    }
    const by = client(proxy.url, { allow: ['one.example'] });
    const request = { body: { stream: body(), byteSize: 11 }, signal: abort.signal };
    const error = await errorOf(post(by, `http://one.example:${server.port}/`, request));
    expect(error).to.include({ kind: 'aborted', requestSent: true });
    held.resolve();
    await untilClosed(server.connections[0]!.socket);
    expect(server.received).to.not.include('second');
  });
});
