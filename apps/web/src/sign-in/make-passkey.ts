import { change, RequestFailed } from '../server.js';
import type { Passkey, PasskeyRequest } from '../server-types.js';

/** Whether this browser can make passkeys at all. */
export function canMakePasskeys(): boolean {
  return 'PublicKeyCredential' in window;
}

/** Has the browser make a passkey, and adds it under this name. Throws `RequestFailed`, also when the person gives up. */
export async function makePasskey(name: string): Promise<Passkey> {
  const request = await change<PasskeyRequest>('/passkeys/begin');
  const { response } = await create(request);
  const { clientDataJSON, attestationObject } = response;
  const { passkey } = await change<{ readonly passkey: Passkey }>('/passkeys', {
    name,
    challenge: request.challenge,
    client_data: textOf(clientDataJSON),
    attestation_object: textOf(attestationObject),
    transports: response.getTransports(),
  });
  return passkey;
}

async function create({
  challenge,
  rp_id: id,
  user_handle: userHandle,
  user_name: name,
  algorithms,
  known,
  timeout_ms: timeout,
}: PasskeyRequest): Promise<PublicKeyCredential & { readonly response: AuthenticatorAttestationResponse }> {
  const made = await navigator.credentials
    .create({
      publicKey: {
        challenge: bytesOf(challenge),
        rp: { id, name: 'Darkroom' },
        user: { id: bytesOf(userHandle), name, displayName: name },
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: known.map((one) => ({
          type: 'public-key',
          id: bytesOf(one.id),
          transports: [...one.transports] as AuthenticatorTransport[],
        })),
        // It is found without an e-mail address, and signs in by itself.
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
        timeout,
      },
    })
    .catch((error: unknown) => {
      throw new RequestFailed(sentenceFor(error));
    });
  if (made === null) throw new RequestFailed(NOT_MADE);
  return made as PublicKeyCredential & { readonly response: AuthenticatorAttestationResponse };
}

const NOT_MADE = 'No passkey was made. Try again.';

function sentenceFor(error: unknown): string {
  return error instanceof DOMException && error.name === 'InvalidStateError'
    ? 'This device has a passkey for your account already.'
    : NOT_MADE;
}

/** Base64url. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

function textOf(bytes: ArrayBuffer): string {
  const plain = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
