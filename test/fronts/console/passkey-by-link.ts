import { expect } from 'chai';
import { SoftwareAuthenticator } from '../../harness/software-authenticator.js';
import { ConsoleClient } from './console-harness.js';

/** Signs in by a link of a service under the name localhost, and adds a passkey. */
export async function addPasskey(link: URL): Promise<SoftwareAuthenticator> {
  const { origin } = link;
  const signedIn = await fetch(link, { method: 'POST', headers: { Origin: origin }, redirect: 'manual' });
  const person = new ConsoleClient(origin, cookieOf(signedIn, 'darkroom_session'));
  const challenge = String((await person.post('/passkeys/begin')).data['challenge']);
  const authenticator = new SoftwareAuthenticator();
  const { clientData, attestationObject } = authenticator.register({ challenge, party: partyOf(origin) });
  const added = { name: 'laptop', challenge, client_data: clientData, attestation_object: attestationObject };
  expect(await person.post('/passkeys', added)).to.include({ status: 200 });
  return authenticator;
}

/** Signs in with the passkey alone. */
export async function signInWithPasskey(
  origin: string,
  personId: string,
  authenticator: SoftwareAuthenticator,
): Promise<ConsoleClient> {
  const headers = { 'Origin': origin, 'Content-Type': 'application/json' };
  const begun = await fetch(`${origin}/sign-in/passkey/begin`, { method: 'POST', headers: { Origin: origin } });
  const { data } = (await begun.json()) as { readonly data: { readonly challenge: string } };
  const { challenge } = data;
  const { credentialId, clientData, authenticatorData, signature } = authenticator.authenticate({
    challenge,
    party: partyOf(origin),
  });
  const finished = await fetch(`${origin}/sign-in/passkey/finish`, {
    method: 'POST',
    headers: { ...headers, Cookie: cookieOf(begun, 'darkroom_passkey') },
    body: JSON.stringify({
      credential_id: credentialId,
      user_handle: Buffer.from(personId).toString('base64url'),
      client_data: clientData,
      authenticator_data: authenticatorData,
      signature,
    }),
  });
  expect(finished.status).to.equal(200);
  return new ConsoleClient(origin, cookieOf(finished, 'darkroom_session'));
}

function partyOf(origin: string) {
  return { id: 'localhost', origin };
}

function cookieOf(response: Response, name: string): string {
  const line = response.headers.getSetCookie().find((one) => one.startsWith(`${name}=`)) ?? '';
  return line.split(';')[0] ?? '';
}
