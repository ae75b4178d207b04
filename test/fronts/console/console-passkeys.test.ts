/*
 * Goal: on the account page a person adds, renames and removes passkeys of their own, soon after signing in, and signs
 * in with them afterwards; nobody does any of it for somebody else.
 * Method: a whole service over HTTP in this process under the name localhost, sessions of two people, and authenticators
 * in software in place of their browsers' ones.
 */
import { expect } from 'chai';
import { createPerson } from '../../../core/people/manage-people.js';
import { beginPasskeySignIn, personByPasskey } from '../../../core/people/passkeys.js';
import { SoftwareAuthenticator } from '../../harness/software-authenticator.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';
import { clientOf, type ConsoleAnswer, ConsoleClient } from './console-harness.js';

interface Asked {
  readonly challenge: string;
  readonly rp_id: string;
  readonly user_handle: string;
  readonly user_name: string;
  readonly algorithms: readonly number[];
  readonly known: readonly { readonly id: string; readonly transports: readonly string[] }[];
  readonly timeout_ms: number;
}

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly last_used_on: string | null;
}

const QUARTER_MS = 15 * 60_000;

describe('passkeys on the account page', () => {
  let service: OAuthHarness;
  let ada: ConsoleClient;
  let bob: ConsoleClient;
  const origin = () => service.origin.replace('127.0.0.1', 'localhost');
  const party = () => ({ id: 'localhost', origin: origin() });

  beforeEach(async () => {
    service = await OAuthHarness.open({ publicUrl: () => origin() });
    const { accountId } = service.person;
    const other = await createPerson(service.harness.context, { accountId, email: 'bob@example.com' });
    [ada, bob] = [await browserOf(service.person), await browserOf(other)];
  });
  afterEach(() => service.close());

  const browserOf = async (person: typeof service.person) =>
    new ConsoleClient(origin(), (await clientOf(service, person)).cookie);
  const listOf = async (client: ConsoleClient) => (await client.get('/passkeys')).data['passkeys'] as readonly Shown[];
  const begin = async (client = ada) => (await client.post('/passkeys/begin')).data as unknown as Asked;
  const answerTo = ({ challenge }: Asked, authenticator: SoftwareAuthenticator, name = 'laptop') => {
    const { clientData, attestationObject, transports } = authenticator.register({ challenge, party: party() });
    return { name, challenge, client_data: clientData, attestation_object: attestationObject, transports };
  };
  const add = async (authenticator = new SoftwareAuthenticator(), client = ada): Promise<ConsoleAnswer> =>
    client.post('/passkeys', answerTo(await begin(client), authenticator));

  it('are made for the person who is signed in, and then sign them in', async () => {
    const { challenge, ...asked } = await begin();
    const { personId, email } = service.person;
    expect(asked).to.deep.equal({
      rp_id: 'localhost',
      user_handle: Buffer.from(personId).toString('base64url'),
      user_name: email,
      algorithms: [-8, -7, -257],
      known: [],
      timeout_ms: 300_000,
    });
    const authenticator = new SoftwareAuthenticator();
    const { status, data } = await ada.post('/passkeys', answerTo({ challenge, ...asked }, authenticator));
    expect(status).to.equal(200);
    expect(data['passkey']).to.deep.include({ id: authenticator.credentialId, name: 'laptop', last_used_on: null });
    expect((await begin()).known).to.deep.equal([{ id: authenticator.credentialId, transports: ['internal'] }]);
    const { context } = service.harness;
    const signIn = await beginPasskeySignIn(context);
    const assertion = authenticator.authenticate({ challenge: signIn, party: party() });
    const person = await personByPasskey(context, party(), { challenge: signIn, personId, assertion });
    expect(person?.personId).to.equal(personId);
    expect((await listOf(ada))[0]?.last_used_on).to.match(/T00:00:00/);
  });

  it('show nothing but their names and times, to their person alone', async () => {
    await add();
    const { text } = await ada.get('/passkeys');
    expect(text).not.to.match(/public|counter|transport/i);
    expect(await listOf(ada)).to.have.lengthOf(1);
    expect(await listOf(bob)).to.deep.equal([]);
  });

  it('are renamed and removed by their person alone', async () => {
    const { id } = (await add()).data['passkey'] as Shown;
    expect(await bob.post('/passkeys/rename', { id, name: 'mine' })).to.include({ status: 404, code: 'NOT_FOUND' });
    expect(await bob.post('/passkeys/remove', { id })).to.include({ status: 404, code: 'NOT_FOUND' });
    expect(await ada.post('/passkeys/rename', { id, name: 'phone' })).to.include({ status: 200 });
    expect((await listOf(ada)).map(({ name }) => name)).to.deep.equal(['phone']);
    expect(await ada.post('/passkeys/remove', { id })).to.include({ status: 200 });
    expect(await listOf(ada)).to.deep.equal([]);
  });

  it('are added soon after signing in, and the page says so otherwise', async () => {
    const asked = await begin();
    service.harness.clock.advance(QUARTER_MS + 1);
    const answer = await ada.post('/passkeys/begin');
    expect(answer).to.include({ status: 403, code: 'RECENT_SIGN_IN_REQUIRED' });
    expect(answer.message).to.include('sign in again');
    expect(await ada.post('/passkeys', answerTo(asked, new SoftwareAuthenticator()))).to.include({
      status: 422,
      code: 'PASSKEY_REFUSED',
    });
    expect(await listOf(ada)).to.deep.equal([]);
  });

  it('are not added with the challenge of somebody else, or of another session', async () => {
    const asked = await begin();
    const elsewhere = await browserOf(service.person);
    for (const client of [bob, elsewhere])
      expect(await client.post('/passkeys', answerTo(asked, new SoftwareAuthenticator()))).to.include({
        code: 'PASSKEY_REFUSED',
      });
    expect(await ada.post('/passkeys', answerTo(asked, new SoftwareAuthenticator()))).to.include({ status: 200 });
  });

  it('are not taken from what no browser sends', async () => {
    const answer = answerTo(await begin(), new SoftwareAuthenticator());
    const { client_data: _data, ...without } = answer;
    const bad: readonly object[] = [
      without,
      { ...answer, name: '' },
      { ...answer, name: ' ' },
      { ...answer, name: 'x'.repeat(101) },
      { ...answer, challenge: 'a b' },
      { ...answer, attestation_object: '' },
      { ...answer, transports: [1] },
      { ...answer, transports: Array.from({ length: 21 }, () => 'usb') },
      { ...answer, surprise: 1 },
    ];
    for (const body of bad) expect(await ada.post('/passkeys', body), JSON.stringify(body)).to.include({ status: 422 });
    expect(await ada.post('/passkeys', answer)).to.include({ status: 200 });
  });

  it('are not made where browsers keep none', async () => {
    const plain = await OAuthHarness.open();
    const client = await clientOf(plain, plain.person);
    expect((await client.get('/passkeys')).data).to.deep.equal({ passkeys: [], can_be_used: false });
    expect(await client.post('/passkeys/begin')).to.include({ status: 404, code: 'NOT_FOUND' });
    await plain.close();
  });
});
