/*
 * Goal: a redirect is followed only where it was allowed, with nothing of ours for strangers.
 * Method: real TLS servers that redirect to each other. Each keeps what it was asked.
 */
import { expect } from 'chai';
import { orSkip } from '../../servers/servers.js';
import { errorOf, get, post } from './client.js';
import { answering, RawServer } from './raw-server.js';
import { ok, TlsServers, to } from './tls-servers.js';

describe('the redirects of outgoing requests', () => {
  let tls: TlsServers;
  before(async function () {
    tls = await orSkip(this, TlsServers.make());
  });
  afterEach(() => tls.close());
  after(() => tls.remove());

  const credentials = {
    'authorization': 'Bearer s3cret',
    'cookie': 'session=s3cret',
    'x-api-key': 's3cret',
    'accept': 'application/json',
  };

  it('are returned like other answers unless they are to be followed', async () => {
    const server = await tls.serving(to('https://two.example/'));
    const answer = await get(tls.client(), `https://one.example:${server.port}/`);
    expect([answer.status, answer.header('Location')]).to.deep.equal([302, 'https://two.example/']);
    answer.discard();
    expect(server.asked).to.have.length(1);
  });

  it('within one origin keep the headers', async () => {
    const server = await tls.serving((path, response) =>
      path === '/a' ? to('/b')(path, response) : ok(path, response),
    );
    expect(
      (await get(tls.client(), `https://one.example:${server.port}/a`, { headers: credentials, maxRedirects: 1 }))
        .status,
    ).to.equal(200);
    expect(server.asked.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
    for (const { headers } of server.asked) expect(headers).to.include(credentials);
  });

  it('drop all credentials on the way to another origin', async () => {
    const second = await tls.serving(ok);
    for (const location of [`https://two.example:${second.port}/b`, `//one.example:${second.port}/b`]) {
      const first = await tls.serving(to(location));
      const request = { headers: credentials, maxRedirects: 1 };
      expect((await get(tls.client(), `https://one.example:${first.port}/a`, request)).status).to.equal(200);
    }
    expect(second.asked).to.have.length(2);
    for (const { headers } of second.asked) {
      expect(headers).to.include({ accept: 'application/json' });
      expect(JSON.stringify(headers)).to.not.include('s3cret');
    }
  });

  it('show no path of another origin in an error, as it may be a secret', async () => {
    const path = '/T0KEN/picture.png?signature=T0KEN';
    const second = await tls.serving((_, response) => void response.writeHead(200, { 'content-length': '9' }).end());
    const first = await tls.serving(to(`https://two.example:${second.port}${path}`));
    const asked = get(tls.client(), `https://one.example:${first.port}/a`, { maxRedirects: 1 });
    const { message } = await errorOf(asked.then((answer) => answer.bytes()));
    expect(second.asked.map((one) => one.path)).to.deep.equal([path]);
    expect(message)
      .to.match(/^GET https:\/\/two\.example:\d+: /)
      .and.to.not.include('T0KEN');
  });

  it('are refused for a request with a body, which another origin would receive', async () => {
    const body = '{"api_key":"s3cret"}';
    const asked = get(tls.client(), 'https://one.example/', { body, maxRedirects: 1 });
    expect(await asked.catch((error: unknown) => error)).to.be.an.instanceOf(RangeError);
  });

  it('do not restore the credentials when they return to the first origin', async () => {
    let returning: string;
    const second = await tls.serving((path, response) => to(returning)(path, response));
    const first = await tls.serving((path, response) =>
      path === '/a' ? to(`https://two.example:${second.port}/`)(path, response) : ok(path, response),
    );
    returning = `https://one.example:${first.port}/c`;
    const request = { headers: credentials, maxRedirects: 2 };
    expect((await get(tls.client(), `https://one.example:${first.port}/a`, request)).status).to.equal(200);
    expect(first.asked[1]?.headers).to.not.have.any.keys('authorization', 'cookie', 'x-api-key');
  });

  it('are followed up to the limit, and no further', async () => {
    const server = await tls.serving((path, response) => to(`/${Number(path.slice(1)) + 1}`)(path, response));
    const error = await errorOf(get(tls.client(), `https://one.example:${server.port}/0`, { maxRedirects: 3 }));
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
    ] as const) {
      const server = await tls.serving(to(location));
      expect(
        await errorOf(get(tls.client(), `https://one.example:${server.port}/`, { maxRedirects: 5 })),
        location,
      ).to.include({ kind, requestSent: true });
    }
  });

  it('to another host are refused while its name leads to an address that is not public', async () => {
    const resolve = async (name: string) => [{ address: name === 'one.example' ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    const first = await tls.serving(to('https://two.example/'));
    const error = await errorOf(
      get(tls.client({ resolve }), `https://one.example:${first.port}/`, { maxRedirects: 1 }),
    );
    expect(error).to.include({ kind: 'refused-address', requestSent: true });
  });

  it('lead to a server without TLS only where it is listed', async () => {
    const plain = await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    tls.keep(plain);
    const first = await tls.serving(to(plain.url));
    const from = `https://one.example:${first.port}/`;
    const allow = [`one.example:${first.port}`];
    const error = await errorOf(get(tls.client({ allow }), from, { maxRedirects: 1 }));
    expect(error).to.include({ kind: 'refused-address', requestSent: true });
    const listed = tls.client({ allow: [...allow, `127.0.0.1:${plain.port}`] });
    expect((await get(listed, from, { headers: credentials, maxRedirects: 1 })).status).to.equal(200);
    expect(plain.received).to.not.include('s3cret');
  });

  it('of a listed server without TLS are followed within it, and to servers with TLS', async () => {
    const second = await tls.serving(ok);
    const first = await RawServer.open(({ socket }) => {
      socket.on('data', (request) => {
        const location = String(request).startsWith('GET / ') ? '/a' : `https://two.example:${second.port}/`;
        socket.write(`HTTP/1.1 302 Found\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`);
      });
    });
    tls.keep(first);
    expect((await get(tls.client(), first.url, { headers: credentials, maxRedirects: 2 })).status).to.equal(200);
    expect(first.received).to.include('GET /a ');
    expect(second.asked.map(({ headers }) => headers.authorization)).to.deep.equal([undefined]);
  });

  it('share the time of one call', async () => {
    const server = await tls.serving((path, response) => to(`/${Number(path.slice(1)) + 1}`)(path, response));
    const error = await errorOf(
      get(tls.client(), `https://one.example:${server.port}/0`, {
        maxRedirects: 1_000_000,
        limits: { totalTimeoutMs: 300 },
      }),
    );
    expect(error).to.include({ kind: 'timed-out', phase: 'total' });
  });

  it('end when the call is aborted between two of them', async () => {
    const abort = new AbortController();
    const server = await tls.serving((path, response) => {
      if (path === '/5') abort.abort();
      to(`/${Number(path.slice(1)) + 1}`)(path, response);
    });
    const error = await errorOf(
      get(tls.client(), `https://one.example:${server.port}/0`, { maxRedirects: 1_000, signal: abort.signal }),
    );
    expect(error).to.include({ kind: 'aborted', requestSent: true });
    expect(server.asked.length).to.be.below(8);
  });

  it('are refused for requests that change something', async () => {
    const failure = await post(tls.client(), 'https://one.example/', { maxRedirects: 1 }).catch(
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(RangeError);
  });
});
