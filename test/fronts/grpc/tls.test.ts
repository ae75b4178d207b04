// Goal: over TLS a service is identified by its token or its certificate, no other caller is identified, and what TLS
// must refuse never becomes a call.
// Method: the front as it is configured, with certificates issued for the run by our own and by other authorities; the
// library's own client for calls, and Node's TLS for why a connection failed.
import { credentials } from '@grpc/grpc-js';
import { expect } from 'chai';
import { digestOf } from '../../../apps/grpc/callers.js';
import { Authority, type Subject } from '../../fixtures/authority.js';
import { orSkip } from '../../servers/servers.js';
import { TlsStage } from './tls-harness.js';

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
