import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { AllowList, readTarget, specialAddress } from '../../../adapters/http/allow-list.js';
import { HttpClient } from '../../../adapters/http/http-client.js';
import { closedAfterEach } from '../../fixtures/opened.js';
import { errorOf, get, localClient, post, UNABORTED } from './client.js';
import { answering, type Connection, onceReceived, RawServer, turns } from './raw-server.js';

/*
 * Goal: a request reaches only the public internet over TLS and what the operator listed, whatever an address looks like, whatever a
 * name leads to, and whenever it leads elsewhere.
 * Method: real clients and servers on loopback addresses, with a resolver whose answers the test chooses; servers count
 * connections.
 */

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('allowed targets', () => {
  const kept = closedAfterEach();

  /** Spellings of this machine's own address. */
  const LOOPBACKS = [
    '127.0.0.1 127.1 0x7f.1 0x7f000001 2130706433 017700000001 127.0.0.1. １２７.0.0.1 localhost LOCALHOST localhost.',
    'ⓛocalhost [::1] [0:0::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::]',
  ].flatMap((hosts) => hosts.split(' '));
  const REFUSED = { kind: 'refused-address', requestSent: false } as const;

  it('refuse this machine in every spelling, with and without TLS, before a connection is made', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const client = kept(new HttpClient());
    for (const host of LOOPBACKS)
      for (const protocol of ['http', 'https'])
        expect(await errorOf(get(client, `${protocol}://${host}:${server.port}/`)), host).to.include(REFUSED);
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
    const v4 = '10.0.0.1 192.168.1.1 172.16.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255';
    for (const host of `${v4} [fd00::1] [fe80::1] [ff02::1] [::] [::ffff:10.0.0.1]`.split(' '))
      expect(await errorOf(get(client, `https://${host}/`)), host).to.include(REFUSED);
  });

  it('refuse a text that is not a server address, without repeating it', async () => {
    const client = kept(new HttpClient());
    const noServers = 'nothing /path https:// https://. https://a../ https://[fe80::1%25eth0]/ file:///etc/passwd';
    const schemes = 'ftp://example.com/ data:text/plain,x javascript:alert(1)';
    const secrets = 'https://user:s3cret@example.com/ https://s3cret@example.com/';
    for (const url of ['', ...`${noServers} ${schemes} ${secrets}`.split(' ')]) {
      const error = await errorOf(get(client, url));
      expect(error, url).to.include(REFUSED);
      expect(error.message).to.not.include('s3cret');
    }
  });

  it('refuse a name that resolves to one refused address among others, or to something else', async () => {
    for (const addresses of [['93.184.216.34', '127.0.0.1'], [''], ['nothing'], ['0x7f.1.1.1.1']]) {
      const resolve = async () => addresses.map((address) => ({ address, family: 4 }));
      const client = kept(new HttpClient({ resolve }));
      expect(await errorOf(get(client, 'https://example.com/')), addresses.join()).to.include(REFUSED);
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
    expect(error).to.include(REFUSED);
    expect([asked, inside.connections.length], 'asked once for each connection').to.deep.equal([2, 0]);
  });

  it('are checked for each request that has a connection of its own, wherever the name led for the one before', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const resolve = async () => [{ address: server.connections.length === 0 ? '127.0.0.1' : '127.0.0.9', family: 4 }];
    const client = kept(new HttpClient({ allow: ['127.0.0.1/32'], resolve }));
    const send = () => post(client, `http://some.name:${server.port}/`);
    await (await send()).bytes();
    // The library's client of the first connection is free for the next one after a turn.
    await turns(2);
    expect(await errorOf(send())).to.include(REFUSED);
    expect(server.connections).to.have.length(1);
  });

  it('allow plain HTTP only for listed hosts', async () => {
    const client = kept(new HttpClient({ resolve: async () => [{ address: '93.184.216.34', family: 4 }] }));
    const error = await errorOf(get(client, 'http://example.com/'));
    expect(error).to.include(REFUSED);
    expect(error.message).to.include('without TLS');
    expect(await errorOf(get(client, 'http://93.184.216.34/'))).to.include(REFUSED);
  });

  it('include a listed host at any address, and no other host at that address', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    for (const entry of ['comfyui.internal', 'ComfyUI.internal.', `comfyui.internal:${server.port}`]) {
      const client = kept(new HttpClient({ allow: [entry], resolve }));
      for (const host of ['comfyui.internal', 'COMFYUI.INTERNAL.'])
        expect((await get(client, `http://${host}:${server.port}/`)).status, entry).to.equal(200);
      for (const host of ['other.internal', '127.0.0.1'])
        expect(await errorOf(get(client, `http://${host}:${server.port}/`)), entry).to.include(REFUSED);
    }
    const client = kept(new HttpClient({ allow: ['comfyui.internal:1'], resolve }));
    expect(await errorOf(get(client, `http://comfyui.internal:${server.port}/`))).to.include(REFUSED);
  });

  it('include a listed network by address and by name', async () => {
    const server = kept(await RawServer.open(answering(OK)));
    const client = kept(
      new HttpClient({ allow: ['127.0.0.0/30'], resolve: async () => [{ address: '127.0.0.1', family: 4 }] }),
    );
    for (const host of ['127.0.0.1', '2130706433', 'some.name'])
      expect((await get(client, `http://${host}:${server.port}/`)).status, host).to.equal(200);
    expect(await errorOf(get(client, `http://127.0.0.4:${server.port}/`))).to.include(REFUSED);
  });
});

describe('a list of allowed hosts and networks', () => {
  it('refuses entries it cannot read, by name', () => {
    const networks = '10.0.0.0/33 10.0.0/8 ::/129 0x7f.1/8 10.0.0.0/ 10.0.0.0/8/8';
    const hosts = 'http://host host:0 host:65536 host:x *.internal:1:2 [::1 [fe80::1%1] user@host host?x';
    for (const entry of ['', ' ', 'a b', ...`${networks} ${hosts}`.split(' ')])
      expect(() => new AllowList([entry]), JSON.stringify(entry)).to.throw(RangeError, entry);
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

/**
 * The special-purpose address registries of IANA (iana-ipv4-special-registry, iana-ipv6-special-registry) and the
 * multicast and reserved blocks beside them, as they are published: each block's first and last address, and whether it
 * is globally reachable. Written by hand, independent of the adapter's own table.
 */
export const IPV4_BLOCKS: readonly (readonly [first: string, last: string, isGlobal: boolean])[] = [
  ['0.0.0.0', '0.255.255.255', false],
  ['10.0.0.0', '10.255.255.255', false],
  ['100.64.0.0', '100.127.255.255', false],
  ['127.0.0.0', '127.255.255.255', false],
  ['169.254.0.0', '169.254.255.255', false],
  ['172.16.0.0', '172.31.255.255', false],
  ['192.0.0.0', '192.0.0.8', false],
  ['192.0.0.11', '192.0.0.255', false],
  ['192.0.2.0', '192.0.2.255', false],
  ['192.168.0.0', '192.168.255.255', false],
  ['198.18.0.0', '198.19.255.255', false],
  ['198.51.100.0', '198.51.100.255', false],
  ['203.0.113.0', '203.0.113.255', false],
  ['224.0.0.0', '239.255.255.255', false],
  ['240.0.0.0', '255.255.255.255', false],
  ['1.0.0.0', '9.255.255.255', true],
  ['11.0.0.0', '100.63.255.255', true],
  ['100.128.0.0', '126.255.255.255', true],
  ['128.0.0.0', '168.63.129.15', true],
  ['168.63.129.17', '169.253.255.255', true],
  ['169.255.0.0', '172.15.255.255', true],
  ['172.32.0.0', '191.255.255.255', true],
  ['192.0.1.0', '192.0.1.255', true],
  ['192.0.3.0', '192.88.98.255', true],
  ['192.88.100.0', '192.167.255.255', true],
  ['192.169.0.0', '198.17.255.255', true],
  ['198.20.0.0', '198.51.99.255', true],
  ['198.51.101.0', '203.0.112.255', true],
  ['203.0.114.0', '223.255.255.255', true],
];

export const IPV6_BLOCKS: readonly (readonly [first: string, last: string, isGlobal: boolean])[] = [
  ['::', '::', false],
  ['::1', '::1', false],
  // IPv4-compatible, deprecated.
  ['::2', '::ffff:ffff', false],
  // IPv4-translated.
  ['::ffff:0:0:0', '::ffff:0:ffff:ffff', false],
  // NAT64 for local use.
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', false],
  ['100::', '100::ffff:ffff:ffff:ffff', false],
  ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff', false],
  // Teredo, benchmarks, ORCHID, documentation.
  ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  // Assigned to no registry of addresses.
  ['4000::', '5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['6000::', 'fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false],
  ['2001:200::', '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', true],
  ['2001:db9::', '2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
  ['2003::', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
];

/*
 * Goal: nothing is sent to an address that is not globally reachable, however the address is written or wrapped into another one.
 * Method: addresses drawn from IANA's registries, written out independently, in every form that leads to them; properties print
 * their seed.
 */

/** Addresses as numbers, by arithmetic of this test's own. */
function v4Number(address: string): bigint {
  return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function v6Number(address: string): bigint {
  const [head = '', tail] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

function v4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
}

function v6Text(value: bigint): string {
  return Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 65_535n).toString(16)).join(
    ':',
  );
}

const within = ([first, last]: readonly [bigint, bigint]) =>
  fc.oneof(fc.bigInt(first, last), fc.constantFrom(first, last));
const v4In = (isGlobal: boolean) =>
  fc
    .constantFrom(...IPV4_BLOCKS.filter((block) => block[2] === isGlobal))
    .chain(([first, last]) => within([v4Number(first), v4Number(last)]));
const v6In = (isGlobal: boolean) =>
  fc
    .constantFrom(...IPV6_BLOCKS.filter((block) => block[2] === isGlobal))
    .chain(([first, last]) => within([v6Number(first), v6Number(last)]));

/** IPv6 addresses that lead to an IPv4 one. */
const WRAPPINGS: readonly (readonly [string, (v4: bigint) => bigint])[] = [
  ['mapped', (v4) => (0xffffn << 32n) + v4],
  ['NAT64', (v4) => v6Number('64:ff9b::') + v4],
  ['6to4', (v4) => (0x2002n << 112n) + (v4 << 80n) + 1n],
];

const isRefused = (address: string) => specialAddress(ipaddr.parse(address)) !== undefined;

/** Expects that exactly the addresses that are not globally reachable are refused. */
function expectExact(addressIn: (isGlobal: boolean) => fc.Arbitrary<bigint>, text: (value: bigint) => string): void {
  for (const isGlobal of [false, true])
    fc.assert(
      fc.property(addressIn(isGlobal), (value) => isRefused(text(value)) !== isGlobal),
      { numRuns: 2_000 },
    );
}

describe('special addresses', () => {
  it('have every address of IPv4 that is not globally reachable, and no other', () => expectExact(v4In, v4Text));

  it('have every address of IPv6 that is not globally reachable, and no other', () => expectExact(v6In, v6Text));

  for (const [form, wrap] of WRAPPINGS)
    it(`have a ${form} address exactly when they have the IPv4 address within`, () =>
      expectExact(v4In, (value) => v6Text(wrap(value))));

  it('name the kind of an address', () => {
    const known = {
      '10.1.2.3': 'a private address',
      '127.0.0.1': 'a loopback address',
      '169.254.169.254': 'a link-local address',
      '100.100.100.200': "a carrier's shared address",
      '168.63.129.16': 'an address of a cloud platform',
      '::1': 'a loopback address',
      '::ffff:127.0.0.1': 'a loopback address',
      'fd00:ec2::254': 'a private address',
      'fe80::1%2': 'a link-local address',
    };
    for (const [address, what] of Object.entries(known))
      expect(specialAddress(ipaddr.parse(address)), address).to.equal(what);
    for (const address of ['8.8.8.8', '2606:4700:4700::1111', '64:ff9b::808:808'])
      expect(specialAddress(ipaddr.parse(address)), address).to.equal(undefined);
  });
});

/*
 * Goal: an error about an address with a secret path shows its origin alone, whatever went wrong and when. No error shows a
 * query. (Of redirects to another origin: see redirects.test.ts.)
 * Method: servers that fail at each point of an exchange, asked for an address with a token in its path and its query.
 */

const PATH = '/T0KEN/picture.png?signature=T0KEN';
const LIMITS = { headersTimeoutMs: 100, idleTimeoutMs: 100, connectTimeoutMs: 100 };

const answeringWith = (answer: string) => (connection: Connection) =>
  onceReceived(connection, '\r\n\r\n', () => void connection.socket.end(answer));

/** The server's behaviour, by the failure that it causes. */
const FAILURES: Readonly<Record<string, (connection: Connection) => void>> = {
  'no answer comes': () => undefined,
  'the answer is no HTTP': answeringWith('no HTTP\r\n\r\n'),
  'the connection is closed': answeringWith(''),
  'the body breaks off': answeringWith('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1'),
  'the body is too large': answeringWith('HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n1'),
  'the body is no JSON': answeringWith('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{"a"='),
  'the body has too many levels': answeringWith(
    `HTTP/1.1 200 OK\r\ncontent-length: 600\r\n\r\n${'['.repeat(300)}${']'.repeat(300)}`,
  ),
  'it redirects too often': answeringWith(
    'HTTP/1.1 302 Found\r\nlocation: /T0KEN/picture.png\r\ncontent-length: 0\r\n\r\n',
  ),
};

describe('the address in an error', () => {
  const kept = closedAfterEach();
  let client: HttpClient;
  beforeEach(() => {
    client = kept(localClient({ limits: LIMITS }));
  });

  /** The messages for an address whose path is secret, and for the same address if it is not. */
  async function messagesAt(origin: string, by = client): Promise<readonly [secret: string, other: string]> {
    const messages = [];
    for (const hasSecretPath of [true, false]) {
      const asked = get(by, origin + PATH, { hasSecretPath, maxRedirects: 1 });
      messages.push((await errorOf(asked.then((answer) => answer.json()))).message);
    }
    return messages as [string, string];
  }

  for (const [name, on] of Object.entries(FAILURES)) {
    it(`has no secret path where ${name}`, async () => {
      const { url } = kept(await RawServer.open(on));
      const origin = new URL(url).origin;
      const [secret, other] = await messagesAt(origin);
      expect(secret)
        .to.match(/^GET http:\/\/127\.0\.0\.1:\d+: /)
        .and.to.not.include('T0KEN');
      expect(other).to.include(`GET ${origin}/T0KEN/picture.png: `).and.to.not.include('signature');
    });
  }

  it('has no secret path where nothing is sent: the call is over, there is no server, or the address is refused', async () => {
    const gone = await RawServer.open(() => undefined);
    const { origin: nowhere } = new URL(gone.url);
    await gone.close();
    for (const origin of [nowhere, 'https://10.0.0.1', 'https://files.internal']) {
      const [secret, other] = await messagesAt(origin);
      expect(secret).to.include(`GET ${origin}: `).and.to.not.include('T0KEN');
      expect(other).to.include(`GET ${origin}/T0KEN/picture.png: `);
    }
    const over = get(client, `https://one.example${PATH}`, { hasSecretPath: true, signal: AbortSignal.abort() });
    expect(await errorOf(over)).to.have.property('message', 'GET https://one.example: The call was aborted.');
    const isOver = kept(localClient());
    await isOver.close();
    const request = {
      method: 'GET',
      url: `https://one.example${PATH}`,
      hasSecretPath: true,
      signal: UNABORTED,
    } as const;
    expect((await errorOf(isOver.request(request))).message).to.not.include('T0KEN');
  });
});
