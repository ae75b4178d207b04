/*
 * Goal: a request reaches only the public internet over TLS and what the operator listed, whatever an address looks like, whatever a
 * name leads to, and whenever it leads elsewhere.
 * Method: real clients and servers on loopback addresses, with a resolver that says what a test wants; servers count connections.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { AllowList, readTarget } from '../../../adapters/http/allow-list.js';
import { HttpClient } from '../../../adapters/http/http-client.js';
import { errorOf, get, post } from './client.js';
import { answering, RawServer } from './raw-server.js';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('allowed targets', () => {
  const opened: { close(): Promise<void> }[] = [];
  const kept = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));

  /** Spellings of this machine's own address. */
  const LOOPBACKS = [
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
    '127.0.0.1.',
    '１２７.0.0.1',
    '[::1]',
    '[0:0::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'ⓛocalhost',
  ];

  it('refuse this machine in every spelling, with and without TLS, before a connection is made', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const client = kept(new HttpClient());
    for (const host of LOOPBACKS) {
      for (const protocol of ['http', 'https']) {
        const error = await errorOf(get(client, `${protocol}://${host}:${server.port}/`));
        expect([error.kind, error.requestSent], `${protocol} ${host}`).to.deep.equal(['refused-address', false]);
      }
    }
    expect(server.connections).to.have.length(0);
  });

  it('parse every notation of an address alike', () => {
    const written = (value: bigint) =>
      fc.constantFrom(
        String(value),
        `0x${value.toString(16)}`,
        `0X${value.toString(16).toUpperCase()}`,
        `0${value.toString(8)}`,
      );
    const wide = (text: string) =>
      text.replace(/[0-9.]/g, (sign) => (sign === '.' ? '\u3002' : String.fromCodePoint(0xff10 + Number(sign))));
    const spellings = fc.bigInt(0n, 2n ** 32n - 1n).chain((value) => {
      const [a, b, c, d] = [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n) as [
        bigint,
        bigint,
        bigint,
        bigint,
      ];
      const groups = [[a, b, c, d], [a, b, c * 256n + d], [a, value & (2n ** 24n - 1n)], [value]];
      const hosts = fc
        .constantFrom(...groups)
        .chain((parts) => fc.tuple(...parts.map(written)).map((texts) => texts.join('.')));
      return fc.tuple(fc.constant(`${a}.${b}.${c}.${d}`), hosts, fc.constantFrom('', '.'), fc.boolean());
    });
    fc.assert(
      fc.property(spellings, ([address, host, dot, isWide]) => {
        expect(readTarget(`https://${isWide ? wide(host) : host}${dot}/`).hostname).to.equal(address);
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuse other internal networks', async () => {
    const client = kept(new HttpClient());
    for (const host of [
      '10.0.0.1',
      '192.168.1.1',
      '172.16.0.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '224.0.0.1',
      '255.255.255.255',
      '[fd00::1]',
      '[fe80::1]',
      '[ff02::1]',
      '[::]',
      '[::ffff:10.0.0.1]',
    ]) {
      expect(await errorOf(get(client, `https://${host}/`)), host).to.include({
        kind: 'refused-address',
        requestSent: false,
      });
    }
  });

  it('refuse a text that is not a server address, without repeating it', async () => {
    const client = kept(new HttpClient());
    for (const url of [
      '',
      'nothing',
      '/path',
      'https://',
      'https://.',
      'https://a../',
      'https://[fe80::1%25eth0]/',
      'file:///etc/passwd',
      'ftp://example.com/',
      'data:text/plain,x',
      'javascript:alert(1)',
      'https://user:s3cret@example.com/',
      'https://s3cret@example.com/',
    ]) {
      const error = await errorOf(get(client, url));
      expect([error.kind, error.requestSent], url).to.deep.equal(['refused-address', false]);
      expect(error.message).to.not.include('s3cret');
    }
  });

  it('refuse a name that resolves to one refused address among others', async () => {
    const resolve = async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    const client = kept(new HttpClient({ resolve }));
    expect(await errorOf(get(client, 'https://example.com/'))).to.include({
      kind: 'refused-address',
      requestSent: false,
    });
  });

  it('refuse a name that resolves to something other than an address', async () => {
    for (const address of ['', 'nothing', '0x7f.1.1.1.1']) {
      const client = kept(new HttpClient({ resolve: async () => [{ address, family: 4 }] }));
      expect(await errorOf(get(client, 'https://example.com/'))).to.include({
        kind: 'refused-address',
        requestSent: false,
      });
    }
  });

  it('connect to the checked addresses, though the name resolves to others a moment later', async () => {
    const checked = kept(await RawServer.open(answering(OK), '127.0.0.2'));
    const inside = kept(await RawServer.open(answering(OK), '127.0.0.3'));
    let asked = 0;
    const resolve = async () => [{ address: (asked += 1) === 1 ? '127.0.0.2' : '127.0.0.3', family: 4 }];
    const client = kept(new HttpClient({ allow: ['127.0.0.2/32'], resolve }));
    expect((await get(client, `http://rebound.example:${checked.port}/`)).status).to.equal(200);
    expect([asked, checked.connections.length]).to.deep.equal([1, 1]);
    const error = await errorOf(post(client, `http://rebound.example:${inside.port}/`));
    expect(error).to.include({ kind: 'refused-address', requestSent: false });
    expect([asked, inside.connections.length], 'asked once for each connection').to.deep.equal([2, 0]);
  });

  it('allow plain HTTP only for listed hosts', async () => {
    const client = kept(new HttpClient({ resolve: async () => [{ address: '93.184.216.34', family: 4 }] }));
    const error = await errorOf(get(client, 'http://example.com/'));
    expect(error).to.include({ kind: 'refused-address', requestSent: false });
    expect(error.message).to.include('without TLS');
    expect(await errorOf(get(client, 'http://93.184.216.34/'))).to.include({
      kind: 'refused-address',
      requestSent: false,
    });
  });

  it('include a listed host at any address, and no other host at that address', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    for (const entry of ['comfyui.internal', 'ComfyUI.internal.', `comfyui.internal:${server.port}`]) {
      const client = kept(new HttpClient({ allow: [entry], resolve }));
      expect((await get(client, `http://comfyui.internal:${server.port}/`)).status, entry).to.equal(200);
      expect((await get(client, `http://COMFYUI.INTERNAL.:${server.port}/`)).status, entry).to.equal(200);
      expect(await errorOf(get(client, `http://other.internal:${server.port}/`)), entry).to.include({
        kind: 'refused-address',
      });
      expect(await errorOf(get(client, `http://127.0.0.1:${server.port}/`)), entry).to.include({
        kind: 'refused-address',
      });
    }
    const client = kept(new HttpClient({ allow: ['comfyui.internal:1'], resolve }));
    expect(await errorOf(get(client, `http://comfyui.internal:${server.port}/`))).to.include({
      kind: 'refused-address',
    });
  });

  it('include a listed network by address and by name', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const client = kept(
      new HttpClient({ allow: ['127.0.0.0/30'], resolve: async () => [{ address: '127.0.0.1', family: 4 }] }),
    );
    for (const host of ['127.0.0.1', '2130706433', 'some.name'])
      expect((await get(client, `http://${host}:${server.port}/`)).status, host).to.equal(200);
    expect(await errorOf(get(client, `http://127.0.0.4:${server.port}/`))).to.include({ kind: 'refused-address' });
  });
});

describe('a list of allowed hosts and networks', () => {
  it('refuses entries it cannot read, by name', () => {
    for (const entry of [
      '',
      ' ',
      '10.0.0.0/33',
      '10.0.0/8',
      '::/129',
      '0x7f.1/8',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      'http://host',
      'host:0',
      'host:65536',
      'host:x',
      'a b',
      '*.internal:1:2',
      '[::1',
      '[fe80::1%1]',
      'user@host',
      'host?x',
    ]) {
      expect(() => new AllowList([entry]), JSON.stringify(entry)).to.throw(RangeError, entry);
    }
  });

  it('reads hosts as it reads the addresses of requests', () => {
    for (const [entry, url] of [
      ['BÜCHER.example', 'http://xn--bcher-kva.example/'],
      ['[::1]:8188', 'http://[0:0::1]:8188/'],
      ['::1', 'http://[::1]/'],
      ['127.0.0.1:80', 'http://127.1/'],
      ['host:443', 'https://host/'],
      ['host:080', 'http://host/'],
    ] as const) {
      const { hostname, port } = readTarget(url);
      expect(new AllowList([entry]).hasHost(hostname, port), entry).to.equal(true);
    }
  });
});
