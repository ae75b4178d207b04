// Goal: a callers file admits exactly the services that it names, and a mistake in it is reported with its line.
// Method: small files, looked up by token and certificate; every mistake alone.
import { expect } from 'chai';
import { CallersFile, CallersInvalid, digestOf } from '../../../apps/grpc/callers.js';

const TOKEN = 'dks_0123456789abcdef';
const text = (...entries: readonly string[]): string =>
  `callers:\n${entries.map((entry) => `  - ${entry}\n`).join('')}`;
const entry = (more = '', name = 'studio', digest = digestOf(TOKEN)): string =>
  `{ name: ${name}, token_sha256: ${digest}, scopes: [generations:read]${more} }`;
const faultOf = (file: string): string => {
  try {
    new CallersFile(file, 'callers.yaml').find({ certificateNames: [] });
    return 'It was taken.';
  } catch (error) {
    expect(error).to.be.instanceOf(CallersInvalid);
    return (error as Error).message;
  }
};

describe('a file of callers', () => {
  it('identifies a service by its token, or by a name in its certificate, and no other caller', () => {
    const callers = new CallersFile(
      text(entry(), '{ name: batch, certificate: "spiffe://example/batch", scopes: [credits:write] }'),
      'callers.yaml',
    );
    expect(callers.find({ token: TOKEN, certificateNames: [] })).to.deep.equal({
      name: 'studio',
      scopes: ['generations:read'],
    });
    expect(callers.find({ certificateNames: ['other', 'spiffe://example/batch'] })?.name).to.equal('batch');
    for (const presented of [
      { certificateNames: [] },
      { certificateNames: ['batch'] },
      { token: `${TOKEN}x`, certificateNames: ['spiffe://example/batch'] },
      { token: digestOf(TOKEN), certificateNames: [] },
    ]) {
      expect(callers.find(presented), JSON.stringify(presented)).to.equal(undefined);
    }
  });

  it('matches DNS names in any letter case and URIs exactly, and refuses a certificate of two services', () => {
    const named = (name: string, certificate: string): string =>
      `{ name: ${name}, certificate: "${certificate}", scopes: [credits:write] }`;
    const callers = new CallersFile(
      text(named('batch', 'Batch.Internal'), named('billing', 'spiffe://example/Billing')),
      'callers.yaml',
    );
    const nameOf = (...certificateNames: readonly string[]) => callers.find({ certificateNames })?.name;
    expect([nameOf('batch.internal', 'batch.internal'), nameOf('spiffe://example/Billing')]).to.deep.equal([
      'batch',
      'billing',
    ]);
    expect([nameOf('spiffe://example/billing'), nameOf('batch.internal', 'spiffe://example/Billing')]).to.deep.equal([
      undefined,
      undefined,
    ]);
  });

  it('says when a service expires', () => {
    const callers = new CallersFile(text(entry(', expires_at: "2030-01-02T03:04:05Z", revoked: true')), 'callers.yaml');
    expect(callers.find({ token: TOKEN, certificateNames: [] })).to.deep.include({
      expiresAt: Date.UTC(2030, 0, 2, 3, 4, 5),
      isRevoked: true,
    });
  });

  it('says how often a service may call', () => {
    const rates = (file: string) =>
      new CallersFile(file, 'callers.yaml').find({ token: TOKEN, certificateNames: [] })?.ratesPerMinute;
    expect(rates(text(entry(', rates_per_minute: { reads: 600, writes: 1 }')))).to.deep.equal({
      reads: 600,
      writes: 1,
    });
    expect(rates(text(entry(', rates_per_minute: { writes: 1 }')))).to.deep.equal({ writes: 1 });
  });

  const WRONG: Readonly<Record<string, readonly [file: string, says: string]>> = {
    'is no YAML': ['callers: [', 'callers.yaml:1'],
    'names no callers': ['{}', 'callers'],
    'has a key nobody knows': [text(entry(', colour: blue')), 'colour'],
    'has a token itself instead of its digest': [
      text(`{ name: studio, token_sha256: ${TOKEN}, scopes: [credits:read] }`),
      'token_sha256',
    ],
    'has a scope nobody has': [text('{ name: studio, certificate: a, scopes: [everything] }'), 'scopes'],
    'has neither token nor certificate': [
      text('{ name: studio, scopes: [credits:read] }'),
      'callers.yaml:2: Caller studio must have either',
    ],
    'has both': [text(entry(', certificate: a')), 'either'],
    'names certificates by a wildcard': [
      text('{ name: studio, certificate: "*.internal", scopes: [credits:read] }'),
      'certificate',
    ],
    'names a certificate by its subject': [
      text('{ name: studio, certificate: "CN=studio", scopes: [credits:read] }'),
      'certificate',
    ],
    'names a DNS name twice': [
      text(
        '{ name: studio, certificate: a.b, scopes: [credits:read] }',
        '{ name: batch, certificate: A.B, scopes: [credits:read] }',
      ),
      'Caller batch has the token or certificate of studio.',
    ],
    'names a token twice': [
      text(entry(), entry('', 'batch')),
      'callers.yaml:3: Caller batch has the token or certificate of studio.',
    ],
    'lets a service call never': [text(entry(', rates_per_minute: { reads: 0 }')), 'rates_per_minute.reads'],
    'has a rate of something else': [text(entry(', rates_per_minute: { creates: 5 }')), 'creates'],
    'has a time of another form': [text(entry(', expires_at: tomorrow')), 'expires_at'],
    'has a time that there is not': [text(entry(', expires_at: "2030-13-01T00:00:00Z"')), 'no time such as'],
  };
  for (const [what, [file, says]] of Object.entries(WRONG)) {
    it(`is refused, with the line, if it ${what}`, () =>
      expect(faultOf(file))
        .to.include(says)
        .and.match(/^callers\.yaml:\d+: /));
  }
});
