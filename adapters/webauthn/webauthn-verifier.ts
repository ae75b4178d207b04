import type * as Library from '@simplewebauthn/server';
import type * as Helpers from '@simplewebauthn/server/helpers';
import { PASSKEY_ALGORITHMS } from '../../core/people/person.js';
import type {
  MadePasskey,
  PasskeyAssertion,
  PasskeyAttestation,
  PasskeyChecks,
  PasskeyVerifier,
} from '../../core/ports/machine.js';

interface Loaded {
  readonly library: typeof Library;
  readonly helpers: typeof Helpers;
}

/** WebAuthn's longest id of a credential. */
const MAX_ID_BYTES = 1_023;
const TRANSPORT = /^[a-z-]{1,16}$/;
const MAX_TRANSPORTS = 8;

/** Checks with SimpleWebAuthn, which is loaded at the first use: most processes never see a passkey. */
export class WebAuthnVerifier implements PasskeyVerifier {
  private loaded: Promise<Loaded> | undefined;

  async readMade(
    { clientData, attestationObject, transports }: PasskeyAttestation,
    checks: PasskeyChecks,
  ): Promise<MadePasskey | undefined> {
    const { library, helpers } = await this.load();
    return orUndefined(async () => {
      if (isFramed(helpers, clientData) || hasCertificate(helpers, attestationObject)) return undefined;
      const { registrationInfo } = await library.verifyRegistrationResponse({
        response: {
          ...credential('made'),
          response: { clientDataJSON: clientData, attestationObject },
        },
        ...expected(checks),
        supportedAlgorithmIDs: [...PASSKEY_ALGORITHMS],
      });
      const made = registrationInfo?.credential;
      const idBytes = Buffer.from(made?.id ?? '', 'base64url').byteLength;
      if (!made || idBytes === 0 || idBytes > MAX_ID_BYTES) return undefined;
      return {
        credentialId: made.id,
        publicKey: Buffer.from(made.publicKey).toString('base64url'),
        counter: made.counter,
        transports: transports.filter((one) => TRANSPORT.test(one)).slice(0, MAX_TRANSPORTS),
      };
    });
  }

  async readCounter(
    { credentialId, clientData, authenticatorData, signature }: PasskeyAssertion,
    checks: PasskeyChecks,
    publicKey: string,
  ): Promise<number | undefined> {
    const { library, helpers } = await this.load();
    return orUndefined(async () => {
      if (isFramed(helpers, clientData)) return undefined;
      const { verified, authenticationInfo } = await library.verifyAuthenticationResponse({
        response: {
          ...credential(credentialId),
          response: { clientDataJSON: clientData, authenticatorData, signature },
        },
        ...expected(checks),
        // With 0 the library leaves the counter to its caller, who knows the one that is stored by then.
        credential: { id: credentialId, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
      });
      return verified ? authenticationInfo.newCounter : undefined;
    });
  }

  private load(): Promise<Loaded> {
    this.loaded ??= loadLibrary().catch((error: unknown) => {
      this.loaded = undefined;
      throw error;
    });
    return this.loaded;
  }
}

async function loadLibrary(): Promise<Loaded> {
  const [library, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { library, helpers };
}

/** Fields that the library requires in every browser response but does not use. */
function credential(id: string) {
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const;
}

function expected({ challenge, party }: PasskeyChecks) {
  return {
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
  } as const;
}

/** Whether a page of another site had our page in a frame. */
function isFramed(helpers: typeof Helpers, clientData: string): boolean {
  return helpers.decodeClientDataJSON(clientData).crossOrigin === true;
}

/**
 * Whether the maker of the authenticator vouches for it. We ask browsers not to say, and the library would fetch
 * whatever address such a certificate names.
 */
function hasCertificate(helpers: typeof Helpers, attestationObject: string): boolean {
  const decoded = helpers.decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const format = decoded.get('fmt');
  return format !== 'none' && (format !== 'packed' || decoded.get('attStmt').get('x5c') !== undefined);
}

/** The library throws plain errors for whatever a client may have sent. */
async function orUndefined<T>(check: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await check();
  } catch {
    return undefined;
  }
}
