import { credentials, Server } from '@grpc/grpc-js';
import { expect } from 'chai';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { ConfigInvalid } from '../../../apps/config/config.js';
import { digestOf } from '../../../apps/grpc/callers.js';
import { readCertificates, WatchedCertificates, WatchedFiles } from '../../../apps/grpc/certificates.js';
import { Authority, type Pair, type Subject } from '../../fixtures/authority.js';
import { orSkip } from '../../servers/servers.js';
import { TlsStage } from './tls-harness.js';

// Goal: over TLS a service is identified by its token or its certificate, no other caller is identified, and what TLS
// must refuse never becomes a call.
// Method: the front as it is configured, with certificates issued for the run by our own and by other authorities; the
// library's own client for calls, and Node's TLS for why a connection failed.

const TOKEN = 'a-token-of-this-test';
const BEARER = `Bearer ${TOKEN}`;
const BY_TOKEN = { name: 'studio', token_sha256: digestOf(TOKEN) };

describe('gRPC over TLS', () => {
  let grpc: TlsStage | undefined;
  const at = (): TlsStage => {
    if (!grpc) throw new Error('Nothing is there.');
    return grpc;
  };

  before(async function () {
    grpc = await orSkip(this, TlsStage.open({ callers: [BY_TOKEN], asksForCertificates: false }));
  });
  after(() => grpc?.close());

  it('accepts a token, and refuses a caller without one', async () => {
    expect(await at().ask(at().channel(), BEARER)).to.equal('OK');
    expect(await at().ask(at().channel())).to.equal('DEVELOPER_TOKEN_REQUIRED');
    expect(await at().ask(at().channel(), 'Bearer another')).to.equal('DEVELOPER_TOKEN_INVALID');
    expect(await at().ask(at().channel(), TOKEN), 'a token without a word before it').to.equal(
      'DEVELOPER_TOKEN_INVALID',
    );
  });

  it('requests no certificate, and identifies no caller by one', async () => {
    const own = at().authority.issue({ names: ['DNS:studio'] });
    expect(await at().ask(at().channel(own))).to.equal('DEVELOPER_TOKEN_REQUIRED');
  });

  it('refuses plain text, and is refused by a client that does not trust the authority', async () => {
    expect(await at().ask(credentials.createInsecure(), BEARER)).to.equal('status 14');
    expect(await at().ask(credentials.createSsl(), BEARER)).to.equal('status 14');
    expect(await at().ask(at().channel(), BEARER), 'and goes on').to.equal('OK');
  });

  it('speaks TLS 1.2 and 1.3, and nothing older', async () => {
    expect(await at().shakeHands({})).to.equal('TLSv1.3');
    expect(await at().shakeHands({ maxVersion: 'TLSv1.2' })).to.equal('TLSv1.2');
    // At its default security level the client would not offer it.
    const older = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    expect(await at().shakeHands(older)).to.equal('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
  });
});

describe('gRPC over mutual TLS', () => {
  let grpc: TlsStage | undefined;
  const at = (): TlsStage => {
    if (!grpc) throw new Error('Nothing is there.');
    return grpc;
  };
  const callers = [
    BY_TOKEN,
    { name: 'billing', certificate: 'spiffe://example/billing' },
    { name: 'batch', certificate: 'Batch.Internal' },
    { name: 'gone', certificate: 'gone', revoked: true },
    { name: 'late', certificate: 'late', expires_at: '2020-01-01T00:00:00Z' },
    { name: 'narrow', certificate: 'narrow', scopes: ['credits:read'] },
  ];
  const asked = (subject: Subject, authorization?: string): Promise<string> =>
    at().ask(at().channel(at().authority.issue(subject)), authorization);

  before(async function () {
    grpc = await orSkip(this, TlsStage.open({ callers, asksForCertificates: true }));
  });
  after(() => grpc?.close());

  it('identifies a service by a URI or a DNS name of its certificate', async () => {
    expect(await asked({ names: ['URI:spiffe://example/billing'] })).to.equal('OK');
    expect(await asked({ names: ['DNS:other', 'DNS:bATCH.internal'] }), 'case does not count in DNS').to.equal('OK');
  });

  it('refuses a certificate of our authority that names no service', async () => {
    for (const names of [
      ['DNS:somebody'],
      ['URI:spiffe://example/billing/2'],
      ['URI:SPIFFE://example/billing'],
      ['DNS:*.internal'],
    ]) {
      expect(await asked({ names }), names.join()).to.equal('DEVELOPER_TOKEN_INVALID');
    }
    expect(await asked({ names: ['email:batch@internal', 'IP:127.0.0.1'] })).to.equal('DEVELOPER_TOKEN_REQUIRED');
    expect(await asked({ commonName: 'batch.internal' }), 'a common name is no name').to.equal(
      'DEVELOPER_TOKEN_REQUIRED',
    );
  });

  it('refuses names that imitate others: of another kind, or written like a list', async () => {
    expect(await asked({ names: ['URI:batch.internal'] })).to.equal('DEVELOPER_TOKEN_REQUIRED');
    expect(await asked({ names: ['DNS:spiffe://example/billing'] })).to.equal('DEVELOPER_TOKEN_REQUIRED');
    expect(await asked({ names: ['URI:urn:x, DNS:batch.internal, URI:urn:y'] })).to.equal('DEVELOPER_TOKEN_REQUIRED');
  });

  it('refuses a certificate that names two services, of which one may be revoked', async () => {
    expect(await asked({ names: ['URI:spiffe://example/billing', 'DNS:batch.internal'] })).to.equal(
      'DEVELOPER_TOKEN_INVALID',
    );
    expect(await asked({ names: ['DNS:batch.internal', 'DNS:gone'] })).to.equal('DEVELOPER_TOKEN_INVALID');
    expect(await asked({ names: ['DNS:batch.internal', 'DNS:BATCH.internal'] }), 'one service twice').to.equal('OK');
  });

  it('refuses a service that is revoked, expired or lacks the scope', async () => {
    expect(await asked({ names: ['DNS:gone'] })).to.equal('DEVELOPER_TOKEN_REVOKED');
    expect(await asked({ names: ['DNS:late'] })).to.equal('DEVELOPER_TOKEN_EXPIRED');
    expect(await asked({ names: ['DNS:narrow'] })).to.equal('DEVELOPER_SCOPE_INSUFFICIENT');
  });

  it('uses the token if both are sent, and never falls back to the certificate', async () => {
    const billing = { names: ['URI:spiffe://example/billing'] };
    expect(await asked({ names: ['DNS:gone'] }, BEARER), 'what is in between may be nobody').to.equal('OK');
    for (const authorization of ['Bearer another', 'Bearer', 'Bearer two words', 'Basic c3R1ZGlv', '']) {
      expect(await asked(billing, authorization), `"${authorization}"`).to.equal('DEVELOPER_TOKEN_INVALID');
    }
  });

  it('refuses the handshake without a certificate, and with one that is expired, not for clients, or of another authority', async () => {
    const other = await Authority.make(at().folder, 'theirs');
    const names = ['URI:spiffe://example/billing'];
    const { authority } = at();
    const refused = [
      authority.issue({ names, days: -1 }),
      authority.issue({ names, usage: 'serverAuth' }),
      other.issue({ names }),
      undefined,
    ];
    for (const [index, own] of refused.entries()) {
      expect(await at().shakeHands(own === undefined ? {} : { cert: own.cert, key: own.key }), `${index}`).to.match(
        /^closed$|^ECONNRESET$|ALERT_CERTIFICATE_REQUIRED$/,
      );
      expect(await at().ask(at().channel(own), BEARER), `${index}, with a token`).to.equal('status 14');
    }
    expect(await at().ask(credentials.createInsecure(), BEARER)).to.equal('status 14');
    expect(await asked({ names })).to.equal('OK');
    const told = at()
      .log.filter(({ msg }) => msg === 'TLS refused')
      .map(({ reason, peer }) => [peer, reason] as const);
    // Each at least twice: by the socket, and by the library once per attempt.
    expect(told).to.have.length.at.least(2 * refused.length);
    expect(told.map(([peer]) => peer)).to.include('127.0.0.1');
    expect(told.map(([, reason]) => reason).join()).to.include('certificate');
  });
});

// Goal: certificates that cannot be used are refused in one sentence that names the configuration key; renewed ones are
// used without a restart, and a faulty renewal locks no caller out.
// Method: files with one fault each; then the library's server over files that are replaced while it listens. Node's
// TLS shows which certificate the server presents and whose it accepts, and is polled until that changes.

describe('certificates of the gRPC front', () => {
  let folder = '';
  let authority: Authority;
  let pair: Pair;
  const at = (name: string): string => join(folder, name);
  const issue = (): Pair => authority.issue({ names: ['DNS:localhost'], usage: 'serverAuth' });

  before(async function () {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-certificates-'));
    authority = await orSkip(this, Authority.make(folder, 'ours'));
    pair = issue();
  });
  after(() => rmSync(folder, { recursive: true }));

  describe('as files', () => {
    const GARBAGE = 'no certificate and no key';
    const whole = (): string => authority.cert.toString();

    it('are accepted as a pair, with a chain, and with one authority or more', () => {
      const { certFile, keyFile } = pair;
      writeFileSync(at('chain'), `${pair.cert.toString()}${whole()}`);
      writeFileSync(at('authorities'), `The one:\n${whole()}and the other:\n${issue().cert.toString()}`);
      expect(readCertificates({ certFile: at('chain'), keyFile, clientCaFile: at('authorities') })).to.have.all.keys(
        'minVersion',
        'secureOptions',
        'cert',
        'key',
        'ca',
      );
      expect(readCertificates({ certFile, keyFile }), 'asks nobody for a certificate').to.not.have.property('ca');
      writeFileSync(at('both'), `${pair.key.toString()}${pair.cert.toString()}`);
      expect(readCertificates({ certFile: at('both'), keyFile: at('both') }), 'both in one file').to.have.property(
        'key',
      );
    });

    const locked = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAo=\n-----END ENCRYPTED PRIVATE KEY-----\n';
    const WRONG: Readonly<
      Record<
        string,
        readonly [file: 'certFile' | 'keyFile' | 'clientCaFile', text: () => string | undefined, key: string]
      >
    > = {
      'certificate that is not there': ['certFile', () => undefined, 'grpc.tls_cert_file'],
      'certificate of no text': ['certFile', () => '', 'grpc.tls_cert_file'],
      'certificate that is none': ['certFile', () => GARBAGE, 'grpc.tls_cert_file'],
      'certificate that is a key': ['certFile', () => pair.key.toString(), 'grpc.tls_cert_file'],
      'certificate whose chain is cut': [
        'certFile',
        () => `${pair.cert.toString()}${whole().slice(0, 200)}`,
        'grpc.tls_cert_file',
      ],
      'key that is not there': ['keyFile', () => undefined, 'grpc.tls_key_file'],
      'key of no text': ['keyFile', () => '', 'grpc.tls_key_file'],
      'key that is a certificate': ['keyFile', whole, 'grpc.tls_key_file'],
      'key that wants a password': ['keyFile', () => locked, 'grpc.tls_key_file'],
      'key of another certificate': ['keyFile', () => issue().key.toString(), 'grpc.tls_key_file'],
      'authority that is not there': ['clientCaFile', () => undefined, 'grpc.tls_client_ca_file'],
      'authority of no text': ['clientCaFile', () => '', 'grpc.tls_client_ca_file'],
      'authority that is none': ['clientCaFile', () => GARBAGE, 'grpc.tls_client_ca_file'],
      'list of authorities that is cut': [
        'clientCaFile',
        () => `${whole()}${whole().slice(0, 200)}`,
        'grpc.tls_client_ca_file',
      ],
    };
    for (const [what, [file, text, key]] of Object.entries(WRONG)) {
      it(`are refused: ${what}`, () => {
        rmSync(at('wrong'), { force: true });
        const content = text();
        if (content !== undefined) writeFileSync(at('wrong'), content);
        const read = (): unknown =>
          readCertificates({
            certFile: pair.certFile,
            keyFile: pair.keyFile,
            clientCaFile: authority.certFile,
            [file]: at('wrong'),
          });
        expect(read)
          .to.throw(ConfigInvalid)
          .with.property('message')
          .which.matches(new RegExp(`^${key.replaceAll('.', '\\.')} ${at('wrong')} [^\\n]+\\.$`));
      });
    }
  });

  describe('that are replaced while it listens', () => {
    const files = () => ({ certFile: at('server.pem'), keyFile: at('server.key'), clientCaFile: at('callers.pem') });
    let certificates: WatchedCertificates;
    let server: Server;
    let port: number;
    let lines: string[];

    beforeEach(async () => {
      copyFileSync(pair.certFile, at('server.pem'));
      copyFileSync(pair.keyFile, at('server.key'));
      copyFileSync(authority.certFile, at('callers.pem'));
      lines = [];
      certificates = new WatchedCertificates(
        files(),
        pino(
          { messageKey: 'msg' },
          {
            write: (line: string) => {
              lines.push((JSON.parse(line) as { msg: string }).msg);
            },
          },
        ),
        5,
      );
      server = new Server();
      port = await new Promise((resolve, reject) => {
        server.bindAsync('127.0.0.1:0', certificates, (error, bound) => {
          if (error) reject(error);
          else resolve(bound);
        });
      });
    });
    afterEach(() => {
      server.forceShutdown();
      certificates.close();
    });

    const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
      while (!(await holds())) await sleep(5);
    };
    const to = (own: Pair, more: ConnectionOptions = {}) =>
      connect({
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: authority.cert,
        cert: own.cert,
        key: own.key,
        ALPNProtocols: ['h2'],
        ...more,
      });

    /** Whether the server answers a caller with this certificate, or closes the connection. */
    const isHeard = async (socket: TLSSocket): Promise<boolean> => {
      const heard = await Promise.race([
        once(socket, 'data').then(() => true),
        once(socket, 'close').then(() => false),
      ]).catch(() => false);
      socket.destroy();
      return heard;
    };

    /** The serial number that the server shows to a caller with this certificate. */
    async function shownTo(own: Pair): Promise<string | undefined> {
      const socket = to(own);
      await once(socket, 'secureConnect');
      const shown = socket.getPeerX509Certificate()?.serialNumber;
      return (await isHeard(socket)) ? shown : undefined;
    }

    it('are used from then on, while older connections continue', async () => {
      const own = authority.issue({});
      const before = to(own);
      await once(before, 'data');
      const first = await shownTo(own);
      const renewed = issue();
      writeFileSync(at('server.pem'), renewed.cert);
      await until(() => lines.length > 0);
      expect([lines, await shownTo(own)], 'half of a pair is of no use').to.deep.equal([
        ['certificates not read'],
        first,
      ]);
      writeFileSync(at('server.key'), renewed.key);
      await until(() => lines.length > 1);
      expect(lines[1]).to.equal('certificates read');
      expect(await shownTo(own))
        .to.be.a('string')
        .and.not.equal(first);
      expect(before.destroyed).to.equal(false);
      before.destroy();
    });

    it('stay in use when their files are removed', async () => {
      const own = authority.issue({});
      const first = await shownTo(own);
      for (const path of Object.values(files())) rmSync(path);
      await until(() => lines.length > 0);
      expect(await shownTo(own))
        .to.be.a('string')
        .and.equal(first);
    });

    it('refuse every caller of another authority, also one that was connected before', async () => {
      const next = await Authority.make(folder, 'next');
      const [old, young] = [authority.issue({}), next.issue({})];
      expect([await isHeard(to(old)), await isHeard(to(young))]).to.deep.equal([true, false]);
      const first = to(old);
      await once(first, 'secureConnect');
      const session = first.getSession();
      first.destroy();
      const again = to(old, { session });
      await once(again, 'secureConnect');
      expect(
        [again.isSessionReused(), await isHeard(again)],
        'nobody is let in for what was shown before',
      ).to.deep.equal([false, true]);
      copyFileSync(next.certFile, at('callers.pem'));
      await until(() => isHeard(to(young)));
      expect([await isHeard(to(old)), await isHeard(to(old, { session }))]).to.deep.equal([false, false]);
    });
  });
});

// Goal: content that could not be read once, as when the process had no descriptor left, is read as soon as it can be, though
// the file does not change again; one fault is reported once.
// Method: a watch of one file, whose reader throws for some time; changes are made by writing the file.

const INTERVAL_MS = 5;

describe('watched files', () => {
  let folder: string;
  let path: string;
  let reports: string[];
  let files: WatchedFiles;
  let reads: number;
  let fault: string | undefined;
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await sleep(INTERVAL_MS);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-watched-'));
    path = join(folder, 'callers.yaml');
    writeFileSync(path, 'one');
    reports = [];
    reads = 0;
    fault = undefined;
    files = new WatchedFiles([path], {
      take: () => {
        reads += 1;
        if (fault !== undefined) throw new Error(fault);
        reports.push('read');
      },
      refuse: (faults) => reports.push(...faults),
    });
    files.start(INTERVAL_MS);
  });
  afterEach(() => {
    files.close();
    rmSync(folder, { recursive: true });
  });

  it('are read again until they can be, though nothing changes, and each fault is reported once', async () => {
    fault = 'EMFILE: too many open files';
    writeFileSync(path, 'the second');
    await until(() => reads >= 5);
    expect(reports).to.deep.equal(['Error: EMFILE: too many open files']);
    fault = 'EIO: i/o error';
    const before = reads;
    await until(() => reads >= before + 5);
    expect(reports.slice(1)).to.deep.equal(['Error: EIO: i/o error']);
    fault = undefined;
    await until(() => reports.includes('read'));
    const used = reads;
    await sleep(10 * INTERVAL_MS);
    expect(reads, 'read no more once it is used').to.equal(used);
  });

  it('are not read while they stay as they were', async () => {
    await sleep(10 * INTERVAL_MS);
    expect(reads).to.equal(0);
    writeFileSync(path, 'the second');
    await until(() => reads === 1);
  });
});
