// Goal: a message reaches only an address that may be called, signed so that the public libraries accept it, and whatever a
// receiver answers or does not answer becomes an outcome within the time.
// Method: real HTTP and TLS servers on the loopback, and the public library of Standard Webhooks as the receiver.
import { expect } from 'chai';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { HttpWebhookSender, type WebhookSenderOptions } from '../../../adapters/webhooks/http-webhook-sender.js';
import { secretText } from '../../../adapters/webhooks/signature.js';
import { AbortSource } from '../../../core/cancellation.js';
import type { GenerationView } from '../../../core/generation/generation.js';
import type { SendOutcome, WebhookMessage } from '../../../core/ports/outside.js';
import { orSkip } from '../../clients/foreign-clients.js';
import { answering, RawServer } from '../http/raw-server.js';
import { ok, TlsServers, to } from '../http/tls-servers.js';

const KEY = 'ab'.repeat(32);
const OLDER_KEY = 'cd'.repeat(32);
const BODY = '{"type":"generation.succeeded","data":{"prompt":"Straße ✗"}}';
const LOOPBACK = { resolve: async () => [{ address: '127.0.0.1', family: 4 }] } as const;

function message(url: string, keys: readonly string[] = [KEY]): WebhookMessage {
  const view = {} as GenerationView;
  return { url, messageId: 'msg_1', event: 'generation.succeeded', occurredAt: 5, view, keys };
}

describe('the webhook sender', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));

  const senderOf = (options: Partial<WebhookSenderOptions> = {}): HttpWebhookSender => {
    const sender = new HttpWebhookSender({ allow: [], clock: { now: Date.now }, render: () => BODY, ...options });
    opened.push(sender);
    return sender;
  };

  const sendTo = (url: string, options: Partial<WebhookSenderOptions> = {}): Promise<SendOutcome> =>
    senderOf({ allow: ['127.0.0.1'], ...options }).send(message(url), new AbortSource().signal);

  async function serving(answer: (req: IncomingMessage, body: string, res: ServerResponse) => void): Promise<string> {
    const server = createServer((req, res) => {
      let body = '';
      req.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      req.on('end', () => answer(req, body, res));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    opened.push({
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?of=app`;
  }

  it('posts what the library of Standard Webhooks accepts by either secret, and by no other', async () => {
    const seen: { readonly headers: Record<string, string>; readonly body: string }[] = [];
    const url = await serving((req, body, res) => {
      expect([req.method, req.url, req.headers['content-type']]).to.deep.equal([
        'POST',
        '/hook?of=app',
        'application/json',
      ]);
      seen.push({ headers: req.headers as Record<string, string>, body });
      res.writeHead(202).end('thanks');
    });
    const sender = senderOf({ allow: ['127.0.0.1'] });
    const outcome = await sender.send(message(url, [KEY, OLDER_KEY]), new AbortSource().signal);
    expect(outcome).to.deep.equal({ status: 202 });
    const [{ headers, body } = { headers: {}, body: '' }] = seen;
    expect(body).to.equal(BODY);
    for (const key of [KEY, OLDER_KEY])
      expect(new Webhook(secretText(key)).verify(body, headers)).to.deep.equal(JSON.parse(BODY));
    expect(() => new Webhook(secretText('ef'.repeat(32))).verify(body, headers)).to.throw();
    expect(() => new Webhook(secretText(KEY)).verify(`${body} `, headers)).to.throw();
  });

  it('reports the status, and how long the receiver asks to wait', async () => {
    for (const [status, retryAfter, retryAfterMs] of [
      [200, undefined, undefined],
      [503, '120', 120_000],
      [429, 'soon', undefined],
      [410, '', undefined],
    ] as const) {
      const url = await serving((_, __, res) => {
        res.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
      });
      expect(await sendTo(url)).to.deep.equal({ status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
    }
  });

  it('keeps the first KiB of the body of an answer as text, and how long the body was', async () => {
    const shown = { mayShow: () => true };
    const bodies: readonly (readonly [sent: string | Buffer, kept: object | undefined])[] = [
      ['', undefined],
      ['{"ok":true}\r\n', { bytes: 13, text: '{"ok":true}\n' }],
      [`${'é'.repeat(511)}x✗${'y'.repeat(2_000)}`, { bytes: 3_026, text: `${'é'.repeat(511)}x` }],
      [Buffer.from('caf\xe9 is closed today', 'latin1'), { bytes: 20, text: 'caf\uFFFD is closed today' }],
      [
        '\u001b[31mred\u0007 and \u202Ebackwards, and long enough',
        { bytes: 43, text: '[31mred and backwards, and long enough' },
      ],
      [Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), { bytes: 16 }],
      [Buffer.alloc(10_000_000, 'z'), { bytes: 65_536, text: 'z'.repeat(1_024) }],
    ];
    for (const [sent, body] of bodies) {
      const url = await serving((_, __, res) => res.writeHead(500).end(sent));
      const { body: kept, ...rest } = (await sendTo(url, shown)) as Extract<SendOutcome, { status: number }>;
      expect([rest, kept], String(sent).slice(0, 40)).to.deep.equal([{ status: 500 }, body]);
    }
  });

  it('keeps nothing of the body of an answer from an address that is not public, listed or not', async () => {
    const url = await serving((_, __, res) => res.writeHead(500).end('the secrets of the operator'));
    for (const allow of [['127.0.0.1'], ['127.0.0.0/8']])
      expect(await sendTo(url, { allow })).to.deep.equal({ status: 500 });
    const asked: string[] = [];
    await sendTo(url, { mayShow: (address) => asked.push(address) > 9 });
    expect(asked).to.deep.equal(['127.0.0.1']);
  });

  it('follows no redirect', async () => {
    const asked: string[] = [];
    const target = await serving((req, _, res) => {
      asked.push(req.url ?? '');
      res.end();
    });
    const url = await serving((_, __, res) => res.writeHead(307, { location: target }).end());
    expect(await sendTo(url)).to.deep.equal({ status: 307 });
    expect(asked).to.deep.equal([]);
  });

  it('counts the status of an answer whose body is long, or is cut, and reads 64 KiB at most', async () => {
    const long = await serving((_, __, res) => res.end(Buffer.alloc(10_000_000)));
    const raw = await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'));
    opened.push(raw);
    expect(await sendTo(long)).to.deep.equal({ status: 200 });
    expect(await sendTo(`http://127.0.0.1:${raw.port}/`)).to.have.property('status', 200);
  });

  it('tells apart no connection, no HTTP and an address that must not be called', async () => {
    const raw = await RawServer.open(answering('SSH-2.0-server\r\n\r\n'));
    const closed = await RawServer.open(() => undefined);
    const { port } = closed;
    await closed.close();
    opened.push(raw);
    expect(await sendTo(`http://127.0.0.1:${port}/`)).to.deep.equal({ fault: 'connection' });
    expect(await sendTo(`http://127.0.0.1:${raw.port}/`))
      .to.have.property('fault')
      .that.is.oneOf(['answer', 'connection']);
    expect(await sendTo('http://127.0.0.2:80/')).to.deep.equal({ fault: 'address' });
  });

  it('calls no name that leads to this machine or its network, and connects to what was checked', async () => {
    const server = await RawServer.open(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    opened.push(server);
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1']) {
      const family = address.includes(':') ? 6 : 4;
      const resolve = async () => [{ address: '93.184.215.14', family: 4 } as const, { address, family } as const];
      const url = `https://receiver.example:${server.port}/`;
      expect(await sendTo(url, { allow: [], resolve }), address).to.deep.equal({ fault: 'address' });
    }
    expect(server.connections).to.have.length(0);
  });

  it('trusts a certificate for the name alone, over TLS', async function () {
    const tls = await orSkip(this, () => TlsServers.make());
    if (tls === undefined) return;
    opened.push(tls);
    const { port } = await tls.serving(ok);
    const options = { allow: ['127.0.0.0/8'], extraCa: [tls.authority.cert.toString()], ...LOOPBACK };
    expect(await sendTo(`https://one.example:${port}/`, options)).to.deep.equal({ status: 200 });
    expect(await sendTo(`https://three.example:${port}/`, options)).to.deep.equal({ fault: 'connection' });
    const redirecting = await tls.serving(to('https://two.example/'));
    expect(await sendTo(`https://one.example:${redirecting.port}/`, options)).to.deep.equal({ status: 302 });
    tls.remove();
  });

  it('sends to an endpoint whatever hangs at others of the same host', async () => {
    const hanging: ServerResponse[] = [];
    const url = await serving((req, _, res) => {
      if (req.url?.startsWith('/hangs') === true) hanging.push(res);
      else res.writeHead(200).end();
    });
    const sender = senderOf({ allow: ['127.0.0.1'] });
    const send = (path: string) => sender.send(message(new URL(path, url).href), new AbortSource().signal);
    const others = Array.from({ length: 127 }, (_, index) => send(`/hangs/${index}`));
    expect(await send('/hook')).to.deep.equal({ status: 200 });
    for (const response of hanging) response.writeHead(200).end();
    await sender.close();
    await Promise.allSettled(others);
  });

  it('rejects when its signal is aborted', async () => {
    const source = new AbortSource();
    const url = await serving(() => source.abort(new Error('stopping')));
    const sent = senderOf({ allow: ['127.0.0.1'] }).send(message(url), source.signal);
    expect(await sent.catch((error: unknown) => error)).to.be.instanceOf(Error);
  });
});

describe('addresses of webhooks', () => {
  const fault = (url: string, allow: readonly string[] = []): string | undefined => {
    const sender = new HttpWebhookSender({ allow, clock: { now: Date.now }, render: () => BODY });
    void sender.close();
    return sender.addressFault(url);
  };

  it('are https addresses of public names', () => {
    for (const url of ['https://app.example', 'https://app.example:8443/a?b=c', 'https://Ünïcode.example/'])
      expect(fault(url), url).to.equal(undefined);
  });

  it('are nothing that names this machine or a network, in any spelling, without the operator', () => {
    for (const url of [
      'http://app.example/',
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://017700000001/',
      'https://１２７.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:127.0.0.1]/',
      'https://[64:ff9b::7f00:1]/',
      'https://8.8.8.8/',
      'https://localhost/',
      'https://app.localhost/',
      'https://printer.local/',
      'https://metadata.google.internal/',
      'https://intranet/',
    ])
      expect(fault(url), url).to.match(/^must be https, and name a public host or one that the operator allows/);
  });

  it('exclude what is not an address, or contains more than one', () => {
    for (const url of [
      '',
      'receiver',
      'ftp://app.example/',
      'https://',
      'https://user:secret@app.example/',
      'https://a b/',
      ' https://app.example/',
      'https://app.exam\tple/',
      'https://app.example/\n',
      'https://app.example\\@127.0.0.1/',
      'https://app.example/a b',
    ])
      expect(fault(url), url).to.match(/^must be/);
    expect(fault('https://app.example/#part')).to.equal('must not have a fragment');
    expect(fault(`https://app.example/${'x'.repeat(2_048)}`)).to.equal('must have at most 2048 characters');
  });

  it('may be what the operator lists, without TLS too', () => {
    expect(fault('http://receiver.internal:8080/', ['receiver.internal:8080'])).to.equal(undefined);
    expect(fault('http://receiver.internal:8081/', ['receiver.internal:8080'])).not.to.equal(undefined);
    expect(fault('http://10.1.2.3/', ['10.0.0.0/8'])).to.equal(undefined);
    expect(fault('http://11.1.2.3/', ['10.0.0.0/8'])).not.to.equal(undefined);
  });
});
