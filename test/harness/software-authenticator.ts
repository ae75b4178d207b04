import { createHash, generateKeyPairSync, type JsonWebKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { PasskeyAssertion, PasskeyAttestation, RelyingParty } from '../../core/ports/machine.js';

/** The subset of CBOR (RFC 8949) that authenticators write. */
export type CborValue = number | string | Uint8Array | readonly CborValue[] | ReadonlyMap<string | number, CborValue>;

const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, list: 4, map: 5 } as const;

export function cbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(MAJOR.negative, -1 - value) : head(MAJOR.unsigned, value);
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([head(MAJOR.text, bytes.byteLength), bytes]);
  }
  if (value instanceof Uint8Array) return Buffer.concat([head(MAJOR.bytes, value.byteLength), value]);
  if (value instanceof Map) {
    const members = [...(value as ReadonlyMap<string | number, CborValue>)];
    return Buffer.concat([head(MAJOR.map, members.length), ...members.flatMap((member) => member.map(cbor))]);
  }
  const items = value as readonly CborValue[];
  return Buffer.concat([head(MAJOR.list, items.length), ...items.map(cbor)]);
}

/** The head of an item: its kind and its value or length, which must be below 65,536. */
function head(major: number, size: number): Buffer {
  if (size < 24) return Buffer.of((major << 5) | size);
  if (size < 256) return Buffer.of((major << 5) | 24, size);
  return Buffer.of((major << 5) | 25, size >> 8, size & 0xff);
}

export type KeyKind = 'ES256' | 'EdDSA' | 'RS256';

/** The inputs of a browser and its authenticator, and the errors they make. */
export interface Ceremony {
  readonly challenge: string;
  readonly party: RelyingParty;
  readonly isVerified?: boolean;
  readonly isPresent?: boolean;
  /** Replaces `webauthn.create` and `webauthn.get`. */
  readonly type?: string;
  readonly crossOrigin?: boolean;
  /** Replaces the last value plus one. */
  readonly counter?: number;
}

/** The inputs of a statement: the signed data, and the signature of the passkey itself. */
export interface Signed {
  readonly signed: Buffer;
  readonly signature: Buffer;
}

/** The attestation's statement about the authenticator's maker. */
export interface Statement {
  readonly format: string;
  readonly members: (made: Signed) => readonly (readonly [string, CborValue])[];
}

const NO_STATEMENT: Statement = { format: 'none', members: () => [] };
const FLAGS = { present: 0x01, verified: 0x04, hasCredential: 0x40 } as const;

/** One passkey in software, as an authenticator keeps it, and the browser in front of it (WebAuthn Level 3). */
export class SoftwareAuthenticator {
  readonly credentialId: string;
  private readonly key: KeyObject;
  private readonly coseKey: Buffer;
  private counter: number;

  constructor(
    private readonly kind: KeyKind = 'ES256',
    /** 0 for a passkey that never counts, like those that are synchronised between devices. */
    { firstCounter = 1, id = randomBytes(16) }: { readonly firstCounter?: number; readonly id?: Buffer } = {},
  ) {
    const { privateKey, publicKey } = keyPair(kind);
    this.key = privateKey;
    this.coseKey = cbor(coseKey(kind, publicKey.export({ format: 'jwk' })));
    this.credentialId = id.toString('base64url');
    this.counter = firstCounter;
  }

  /** Creates the passkey. */
  register(ceremony: Ceremony, { format, members }: Statement = NO_STATEMENT): PasskeyAttestation {
    const id = Buffer.from(this.credentialId, 'base64url');
    const idLength = Buffer.alloc(2);
    idLength.writeUInt16BE(id.byteLength);
    const made = Buffer.concat([Buffer.alloc(16), idLength, id, this.coseKey]);
    const authenticatorData = Buffer.concat([this.head(ceremony, FLAGS.hasCredential), made]);
    const data = clientData(ceremony, 'webauthn.create');
    const attestationObject = cbor(
      new Map<string, CborValue>([
        ['fmt', format],
        ['attStmt', new Map(members(this.sign(authenticatorData, data)))],
        ['authData', authenticatorData],
      ]),
    );
    return {
      clientData: data.toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal'],
    };
  }

  /** Signs in with it. */
  authenticate(ceremony: Ceremony): PasskeyAssertion {
    const data = clientData(ceremony, 'webauthn.get');
    const authenticatorData = this.head(ceremony, 0);
    return {
      credentialId: this.credentialId,
      clientData: data.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: this.sign(authenticatorData, data).signature.toString('base64url'),
    };
  }

  private sign(authenticatorData: Buffer, data: Buffer): Signed {
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(data).digest()]);
    return { signed, signature: sign(this.kind === 'EdDSA' ? null : 'sha256', signed, this.key) };
  }

  private head(ceremony: Ceremony, moreFlags: number): Buffer {
    const { party, isPresent = true, isVerified = true, counter = this.counter } = ceremony;
    if (ceremony.counter === undefined && this.counter > 0) this.counter += 1;
    const rest = Buffer.alloc(5);
    rest.writeUInt8((isPresent ? FLAGS.present : 0) | (isVerified ? FLAGS.verified : 0) | moreFlags);
    rest.writeUInt32BE(counter, 1);
    return Buffer.concat([createHash('sha256').update(party.id).digest(), rest]);
  }
}

function clientData({ challenge, party, type, crossOrigin = false }: Ceremony, usualType: string): Buffer {
  return Buffer.from(JSON.stringify({ type: type ?? usualType, challenge, origin: party.origin, crossOrigin }));
}

function keyPair(kind: KeyKind): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  if (kind === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  if (kind === 'EdDSA') return generateKeyPairSync('ed25519');
  return generateKeyPairSync('rsa', { modulusLength: 2048 });
}

/** The public key in the format of RFC 9053 and RFC 8230. */
function coseKey(kind: KeyKind, { x = '', y = '', n = '', e = '' }: JsonWebKey): ReadonlyMap<number, CborValue> {
  const bytes = (text: string) => Buffer.from(text, 'base64url');
  if (kind === 'ES256')
    return new Map<number, CborValue>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ]);
  if (kind === 'EdDSA')
    return new Map<number, CborValue>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(x)],
    ]);
  return new Map<number, CborValue>([
    [1, 3],
    [3, -257],
    [-1, bytes(n)],
    [-2, bytes(e)],
  ]);
}
