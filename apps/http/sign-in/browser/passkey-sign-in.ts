/** Runs in the browser, on the sign-in page: shows the button for passkeys where they can be used, and signs in. */

interface Asked {
  readonly challenge: string;
  readonly rp_id: string;
  readonly timeout_ms: number;
}

/** The server's envelope. */
type Answer<T> = { readonly success: true; readonly data: T } | { readonly success: false; readonly message: string };

const NOT_DONE = 'No passkey was used. Try again, or sign in another way.';
const NO_ANSWER = 'The service did not answer. Try again in a moment.';

/** A sentence for the person at the browser. */
class Refusal extends Error {}

async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new Refusal(NO_ANSWER);
  });
  const answer = (await response.json().catch(() => {
    throw new Refusal(NO_ANSWER);
  })) as Answer<T>;
  if (!answer.success) throw new Refusal(answer.message);
  return answer.data;
}

async function signIn(returnTo: string): Promise<void> {
  const { challenge, rp_id: rpId, timeout_ms: timeout } = await post<Asked>('/sign-in/passkey/begin', {});
  const found = await navigator.credentials
    .get({ publicKey: { challenge: bytesOf(challenge), rpId, timeout, userVerification: 'required' } })
    .catch(() => null);
  if (found === null) throw new Refusal(NOT_DONE);
  const { rawId, response } = found as PublicKeyCredential;
  const { clientDataJSON, authenticatorData, signature, userHandle } = response as AuthenticatorAssertionResponse;
  const { location } = await post<{ readonly location: string }>('/sign-in/passkey/finish', {
    credential_id: textOf(rawId),
    user_handle: textOf(userHandle ?? new ArrayBuffer(0)),
    client_data: textOf(clientDataJSON),
    authenticator_data: textOf(authenticatorData),
    signature: textOf(signature),
    return: returnTo,
  });
  window.location.assign(location);
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

function offer(place: HTMLElement, button: HTMLButtonElement, fault: HTMLElement): void {
  const run = async (): Promise<void> => {
    fault.textContent = '';
    button.disabled = true;
    try {
      await signIn(button.dataset['return'] ?? '/');
    } catch (error) {
      fault.textContent = error instanceof Refusal ? error.message : NOT_DONE;
    } finally {
      // Also for a browser that comes back to this page.
      button.disabled = false;
      button.focus();
    }
  };
  button.addEventListener('click', () => void run());
  place.hidden = false;
}

const place = document.querySelector<HTMLElement>('#passkey');
const button = place?.querySelector('button');
const fault = place?.querySelector<HTMLElement>('[role="alert"]');
// Browsers have it in pages that were loaded over TLS or from this computer only.
if (place && button && fault && 'PublicKeyCredential' in window) offer(place, button, fault);
