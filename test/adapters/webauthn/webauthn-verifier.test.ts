// Goal: a passkey is accepted only if it answers our challenge, on our page, with the person verified and a valid
// signature; no input from a browser makes the verifier throw.
// Method: an authenticator in software that can get each thing wrong; every text of an answer is also cut and garbled.
import { expect } from 'chai';
import { sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebAuthnVerifier } from '../../../adapters/webauthn/webauthn-verifier.js';
import type { PasskeyAssertion, PasskeyAttestation } from '../../../core/ports/machine.js';
import { Authority } from '../../fixtures/authority.js';
import {
  type Ceremony,
  type KeyKind,
  SoftwareAuthenticator,
  type Statement,
} from '../../harness/software-authenticator.js';
import { orSkip } from '../../servers/servers.js';

const PARTY = { id: 'pictures.example', origin: 'https://pictures.example' };
const ASKED = { challenge: 'Y2hhbGxlbmdl', party: PARTY };
const KINDS: readonly KeyKind[] = ['ES256', 'EdDSA', 'RS256'];

/** Each is one thing that an attacker, or a careless authenticator, gets wrong. */
const FAULTS: readonly (readonly [string, Partial<Ceremony>])[] = [
  ['another challenge', { challenge: 'b3RoZXI' }],
  ['another origin', { party: { ...PARTY, origin: 'https://pictures.example.evil.example' } }],
  ['the origin without TLS', { party: { ...PARTY, origin: 'http://pictures.example' } }],
  ['another relying party', { party: { ...PARTY, id: 'example' } }],
  ['a person who was not verified', { isVerified: false }],
  ['nobody present', { isPresent: false }],
  ['a frame of another site', { crossOrigin: true }],
];

/** Ways in which a text can be corrupted in transit. */
const GARBLED: readonly ((text: string) => string)[] = [
  () => '',
  () => 'AA',
  () => '%%%',
  (text) => text.slice(0, text.length / 2),
  (text) => `AAAA${text.slice(4)}`,
  () => Buffer.from('null').toString('base64url'),
  () => Buffer.from('[]').toString('base64url'),
];

describe('passkeys checked with WebAuthn', () => {
  const verifier = new WebAuthnVerifier();
  const register = (authenticator: SoftwareAuthenticator, ceremony: Partial<Ceremony> = {}) =>
    verifier.readMade(authenticator.register({ ...ASKED, ...ceremony }), ASKED);
  const publicKeyOf = async (authenticator: SoftwareAuthenticator) => (await register(authenticator))?.publicKey ?? '';

  for (const kind of KINDS)
    it(`are made and sign with ${kind}`, async () => {
      const authenticator = new SoftwareAuthenticator(kind, { firstCounter: 5 });
      const made = await register(authenticator);
      expect(made).to.include({ credentialId: authenticator.credentialId, counter: 5 });
      expect(made?.transports).to.deep.equal(['internal']);
      const key = made?.publicKey ?? '';
      expect(await verifier.readCounter(authenticator.authenticate(ASKED), ASKED, key)).to.equal(6);
    });

  for (const [name, fault] of FAULTS) {
    it(`are not made for ${name}`, async () => {
      expect(await register(new SoftwareAuthenticator(), fault)).to.equal(undefined);
    });

    it(`do not sign for ${name}`, async () => {
      const authenticator = new SoftwareAuthenticator();
      const key = await publicKeyOf(authenticator);
      const assertion = authenticator.authenticate({ ...ASKED, ...fault });
      expect(await verifier.readCounter(assertion, ASKED, key)).to.equal(undefined);
    });
  }

  it('do not take what was made for the other purpose', async () => {
    const authenticator = new SoftwareAuthenticator();
    const key = await publicKeyOf(authenticator);
    expect(await register(authenticator, { type: 'webauthn.get' })).to.equal(undefined);
    const assertion = authenticator.authenticate({ ...ASKED, type: 'webauthn.create' });
    expect(await verifier.readCounter(assertion, ASKED, key)).to.equal(undefined);
  });

  it('do not sign with the key of another one', async () => {
    const key = await publicKeyOf(new SoftwareAuthenticator());
    const assertion = new SoftwareAuthenticator().authenticate(ASKED);
    expect(await verifier.readCounter(assertion, ASKED, key)).to.equal(undefined);
  });

  it('do not sign what was changed after signing', async () => {
    const authenticator = new SoftwareAuthenticator();
    const key = await publicKeyOf(authenticator);
    const [first, second] = [authenticator.authenticate(ASKED), authenticator.authenticate(ASKED)];
    for (const member of ['authenticatorData', 'signature'] as const)
      expect(await verifier.readCounter({ ...first, [member]: second[member] }, ASKED, key), member).to.equal(
        undefined,
      );
  });

  it('may vouch for themselves, with a right signature', async () => {
    const statement = (change: (signature: Buffer) => Buffer): Statement => ({
      format: 'packed',
      members: ({ signature }) => [
        ['alg', -7],
        ['sig', change(signature)],
      ],
    });
    const made = (change: (signature: Buffer) => Buffer) =>
      verifier.readMade(new SoftwareAuthenticator().register(ASKED, statement(change)), ASKED);
    expect((await made((signature) => signature))?.counter).to.equal(1);
    expect(await made((signature) => signature.fill(1, 8, 12))).to.equal(undefined);
  });

  it('are refused in formats that only certificates make sense of', async () => {
    for (const format of ['fido-u2f', 'android-key', 'android-safetynet', 'tpm', 'apple', 'other']) {
      const statement: Statement = {
        format,
        members: ({ signature }) => [
          ['alg', -7],
          ['sig', signature],
        ],
      };
      const attestation = new SoftwareAuthenticator().register(ASKED, statement);
      expect(await verifier.readMade(attestation, ASKED), format).to.equal(undefined);
    }
  });

  it('are refused with a certificate of their maker, however right, as it could name an address to fetch', async function () {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-attestation-'));
    try {
      const authority = await orSkip(this, Authority.make(folder, 'maker'));
      const { cert, key } = authority.issue({ commonName: 'x/C=US/O=maker/OU=Authenticator Attestation' });
      const statement = (certificates: readonly Buffer[], by: Buffer | undefined): Statement => ({
        format: 'packed',
        members: ({ signed, signature }) => [
          ['alg', -7],
          ['sig', by === undefined ? signature : sign('sha256', signed, by)],
          ...(certificates.length === 0 ? [] : [['x5c', certificates] as const]),
        ],
      });
      const made = (of: Statement) => verifier.readMade(new SoftwareAuthenticator().register(ASKED, of), ASKED);
      expect(await made(statement([], undefined))).not.to.equal(undefined);
      expect(await made(statement([new X509Certificate(cert).raw], key))).to.equal(undefined);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('have an id of at most 1,023 bytes', async () => {
    const [longest, longer] = [1_023, 1_024].map(
      (size) => new SoftwareAuthenticator('EdDSA', { id: Buffer.alloc(size) }),
    );
    expect((await register(longest as SoftwareAuthenticator))?.credentialId).to.have.lengthOf(1_364);
    expect(await register(longer as SoftwareAuthenticator)).to.equal(undefined);
  });

  it('keep few transports, and only those that are words', async () => {
    const attestation = new SoftwareAuthenticator().register(ASKED);
    const transports = ['usb', '<b>', 'x'.repeat(17), ...Array.from({ length: 20 }, () => 'hybrid')];
    const made = await verifier.readMade({ ...attestation, transports }, ASKED);
    expect(made?.transports).to.deep.equal(['usb', ...Array.from({ length: 7 }, () => 'hybrid')]);
  });

  it('are refused, and nothing thrown, for whatever a browser sends', async () => {
    const authenticator = new SoftwareAuthenticator();
    const attestation = authenticator.register(ASKED);
    const key = (await verifier.readMade(attestation, ASKED))?.publicKey ?? '';
    const assertion = authenticator.authenticate(ASKED);
    for (const garbled of GARBLED) {
      for (const member of ['clientData', 'attestationObject'] as const) {
        const sent: PasskeyAttestation = { ...attestation, [member]: garbled(attestation[member]) };
        expect(await verifier.readMade(sent, ASKED), `${member}: ${sent[member]}`).to.equal(undefined);
      }
    }
    for (const garbled of [...GARBLED, (text: string) => text.slice(0, -8)])
      for (const member of ['clientData', 'authenticatorData', 'signature'] as const) {
        const sent: PasskeyAssertion = { ...assertion, [member]: garbled(assertion[member]) };
        expect(await verifier.readCounter(sent, ASKED, key), `${member}: ${sent[member]}`).to.equal(undefined);
      }
  });
});
