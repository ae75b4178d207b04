import { expect } from 'chai';
import { createPerson, disablePerson } from '../../../core/people/manage-people.js';
import { beginPasskeySignIn, personByPasskey } from '../../../core/people/passkeys.js';
import type { Person } from '../../../core/people/person.js';
import { issueToken } from '../../fixtures/access-tokens.js';
import { SoftwareAuthenticator } from '../../harness/software-authenticator.js';
import { OAuthHarness, PASSWORD } from '../oauth/oauth-harness.js';
import { clientOf, type ConsoleAnswer, ConsoleClient, stranger } from './console-harness.js';

/*
 * Goal: a person sees and ends their own connections, sessions and identities on the account page, and nobody else's; a
 * new way to sign in takes proof that they are there.
 * Method: a whole service over HTTP in this process; sessions of two people of two accounts, and of two of one.
 */

const NEXT = 'another long password';

describe("a person's own on the account page", () => {
  let service: OAuthHarness;
  let ada: ConsoleClient;
  let bob: ConsoleClient;
  let bobHimself: Person;
  let eve: ConsoleClient;
  beforeEach(async () => {
    service = await OAuthHarness.open();
    const { context } = service.harness;
    ada = await clientOf(service, service.person);
    bobHimself = await createPerson(context, { accountId: service.person.accountId, email: 'bob@example.com' });
    bob = await clientOf(service, bobHimself, 'link');
    eve = await clientOf(service, await stranger(service));
  });
  afterEach(() => service.close());

  const listOf = async <T>(client: ConsoleClient, of: string) => (await client.get(`/${of}`)).data[of] as readonly T[];

  it('shows the account: who is signed in, and what there is to spend', async () => {
    const { data } = await ada.get('/overview');
    expect(data['person']).to.include({ email: 'ada@example.com', has_password: true });
    expect(data['account']).to.include({ available_credits: 1_000, reserved_credits: 0, spent_credits: 0 });
    expect(data).to.include({
      base_url: service.origin,
      has_oauth: true,
      has_openai: true,
      mcp_url: `${service.origin}/api/v1/developer/mcp`,
    });
    expect((await eve.get('/overview')).data['account']).to.include({ available_credits: 0 });
  });

  describe('connections', () => {
    const connect = async () => {
      const { access_token: token } = await service.connect(
        await service.signedIn(),
        await service.register(),
        {},
        { cap: '40' },
      );
      const [connection] = await listOf<{ id: string }>(ada, 'connections');
      return { token, id: connection?.id ?? '' };
    };

    it('are listed with what they may do and spend and whose they are, to everybody in the account', async () => {
      await connect();
      for (const [client, isOwn] of [
        [ada, true],
        [bob, false],
      ] as const) {
        const connections = await listOf<object>(client, 'connections');
        expect(connections).to.have.lengthOf(1);
        expect(connections[0]).to.include({
          client_name: 'a client',
          client_host: null,
          audience: 'rest',
          cap: 40,
          used: 0,
          connected_by: 'ada@example.com',
          is_own: isOwn,
        });
      }
      expect(await listOf(eve, 'connections')).to.deep.equal([]);
    });

    it('say what they may do as the page of consent does, and the real host of a document', async () => {
      for (const [clientId, host] of [
        ['HTTPS://client.example/c', 'client.example'],
        ['https://p\u0430ypal.example:8443/c', 'xn--pypal-4ve.example:8443'],
      ] as const) {
        service.harness.clock.advance(1);
        await issueToken(service.harness.context, bobHimself, { clientId, scopes: ['credits:read'] });
        const [connection] = await listOf<object>(bob, 'connections');
        expect(connection).to.deep.include({
          client_host: host,
          may: ['See the balance of the account, and the ledger entries and usage of its own App alone'],
        });
      }
    });

    it('are not listed for a person who may not sign in any more, as they cannot be used', async () => {
      const { token } = await connect();
      await disablePerson(service.harness.context, service.person.personId);
      expect(await listOf(bob, 'connections')).to.deep.equal([]);
      service.harness.clock.advance(5_000);
      expect((await service.call(token)).body).to.include({ code: 'DEVELOPER_TOKEN_REVOKED' });
    });

    it('end when their person changes their password, and those of others do not', async () => {
      const { token } = await connect();
      const bobs = await issueToken(service.harness.context, bobHimself, {
        clientId: 'bobs',
        scopes: ['credits:read'],
      });
      const changed = await ada.post('/password', { current_password: PASSWORD, new_password: NEXT });
      expect(changed).to.include({ status: 200 });
      service.harness.clock.advance(5_000);
      expect((await service.call(token)).body).to.include({ code: 'DEVELOPER_TOKEN_REVOKED' });
      expect((await service.call(bobs.secret)).status).to.equal(200);
      const left = await listOf<{ connected_by: string }>(bob, 'connections');
      expect(left.map(({ connected_by: owner }) => owner)).to.deep.equal(['bob@example.com']);
    });

    it('end with their tokens, at the request of that person alone', async () => {
      const { token, id } = await connect();
      for (const other of [bob, eve])
        expect(await other.post(`/connections/${id}/disconnect`)).to.include({ status: 404, code: 'NOT_FOUND' });
      expect((await service.call(token)).status).to.equal(200);
      expect(await ada.post(`/connections/${id}/disconnect`)).to.include({ status: 200 });
      expect(await listOf(ada, 'connections')).to.deep.equal([]);
      service.harness.clock.advance(5_000);
      expect((await service.call(token)).body).to.include({ code: 'DEVELOPER_TOKEN_REVOKED' });
    });

    it('are found by nothing but their id', async () => {
      for (const id of ['x', '%00', '$where', 'a'.repeat(300)])
        expect(await ada.post(`/connections/${id}/disconnect`), id).to.include({ status: 404 });
    });
  });

  describe('sessions', () => {
    interface ShownPerson {
      readonly id: string;
      readonly is_current: boolean;
    }

    it('are listed, with the one that asks, and without their secrets', async () => {
      const again = await clientOf(service, service.person);
      const sessions = await listOf<ShownPerson>(ada, 'sessions');
      expect(sessions.map(({ is_current: isCurrent }) => isCurrent)).to.have.members([true, false]);
      const { text } = await ada.get('/sessions');
      for (const { cookie } of [ada, again]) expect(text).not.to.include(cookie.split('=')[1]);
    });

    it('end one by one, and never those of others', async () => {
      const again = await clientOf(service, service.person);
      const id = (await listOf<ShownPerson>(ada, 'sessions')).find(({ is_current: isCurrent }) => !isCurrent)?.id ?? '';
      for (const other of [bob, eve])
        expect(await other.post(`/sessions/${id}/end`)).to.include({ status: 404, code: 'NOT_FOUND' });
      expect(await again.get('/overview')).to.include({ status: 200 });
      expect(await ada.post(`/sessions/${id}/end`)).to.include({ status: 200 });
      expect(await again.get('/overview')).to.include({ status: 401 });
      expect(await ada.get('/overview')).to.include({ status: 200 });
    });

    it('end all at once but here, however many there are', async () => {
      const others = [];
      for (let index = 0; index < 105; index += 1) others.push(await clientOf(service, service.person));
      expect(await ada.post('/sessions/end-others')).to.include({ status: 200 });
      expect(await listOf<ShownPerson>(ada, 'sessions')).to.have.lengthOf(1);
      for (const other of [others[0], others[104]])
        expect(await other?.get('/overview')).to.include({ status: 401, code: 'SESSION_REQUIRED' });
      expect(await ada.get('/overview')).to.include({ status: 200 });
      expect(await bob.get('/overview')).to.include({ status: 200 });
    });
  });

  describe('the password', () => {
    const change = (client: ConsoleClient, body: object) => client.post('/password', { new_password: NEXT, ...body });

    it('changes with the current one: a new session continues here, and all others end', async () => {
      const before = new ConsoleClient(service.origin, ada.cookie);
      const elsewhere = await clientOf(service, service.person);
      expect(await change(ada, { current_password: PASSWORD })).to.include({ status: 200 });
      expect(ada.cookie).not.to.equal(before.cookie);
      expect(await ada.get('/overview')).to.include({ status: 200 });
      for (const old of [before, elsewhere]) expect(await old.get('/overview')).to.include({ status: 401 });
      expect((await service.signedIn()).cookieHeader('/')).not.to.include('darkroom_session');
    });

    it('stays as it is without the current one, or with one that is too short', async () => {
      for (const body of [{}, { current_password: '' }, { current_password: NEXT }])
        expect(await change(ada, body)).to.include({ status: 422, message: 'The current password is wrong.' });
      expect(await change(ada, { current_password: PASSWORD, new_password: 'short' })).to.include({ status: 422 });
      expect(await ada.get('/overview')).to.include({ status: 200 });
      expect((await service.signedIn()).cookieHeader('/')).to.include('darkroom_session');
    });

    it('is not guessed here: tries are slowed down, and the sign-in page is not slowed by them', async () => {
      const answers = [];
      for (let index = 0; index < 15; index += 1)
        answers.push(await change(ada, { current_password: `guess ${index}` }));
      expect(answers.filter(({ code }) => code === 'RATE_LIMITED')).to.have.lengthOf.at.least(4);
      expect(await change(ada, { current_password: PASSWORD })).to.include({ code: 'RATE_LIMITED' });
      expect((await service.signedIn()).cookieHeader('/')).to.include('darkroom_session');
    });

    it('is set for the first time soon after signing in, and not later', async () => {
      service.harness.clock.advance(15 * 60_000 + 1_000);
      expect(await change(bob, {})).to.include({ status: 403, code: 'RECENT_SIGN_IN_REQUIRED' });
      const fresh = await clientOf(service, bobHimself, 'link');
      expect(await change(fresh, {})).to.include({ status: 200 });
      expect((await fresh.get('/overview')).data['person']).to.include({ has_password: true });
    });
  });

  describe('outside identities', () => {
    const identity = { issuer: 'https://id.example', subject: 'ada' };

    it('cannot be connected where no provider is configured', async () => {
      expect(await ada.post('/identities/link')).to.include({ status: 404, code: 'NOT_FOUND' });
    });

    it('are listed and unlinked by the person whose they are alone', async () => {
      const { context } = service.harness;
      await context.people.insertIdentity({ ...identity, personId: service.person.personId, linkedAt: 0 });
      expect(await listOf(ada, 'identities')).to.deep.equal([{ ...identity, linked_at: '1970-01-01T00:00:00.000Z' }]);
      for (const other of [bob, eve]) {
        expect(await listOf(other, 'identities')).to.deep.equal([]);
        expect(await other.post('/identities/unlink', identity)).to.include({ status: 404, code: 'NOT_FOUND' });
      }
      expect(await ada.post('/identities/unlink', identity)).to.include({ status: 200 });
      expect(await context.people.findIdentity(identity)).to.equal(null);
    });

    it('are unlinked soon after signing in', async () => {
      const { context, clock } = service.harness;
      await context.people.insertIdentity({ ...identity, personId: service.person.personId, linkedAt: 0 });
      clock.advance(15 * 60_000 + 1);
      expect(await ada.post('/identities/unlink', identity)).to.include({ code: 'RECENT_SIGN_IN_REQUIRED' });
      expect(await listOf(ada, 'identities')).to.have.lengthOf(1);
      const again = await clientOf(service, service.person);
      expect(await again.post('/identities/unlink', identity)).to.include({ status: 200 });
    });
  });
});

/*
 * Goal: on the account page a person adds, renames and removes their own passkeys, soon after signing in, and signs in
 * with them afterwards; no one can do so for another person.
 * Method: a whole service over HTTP in this process under the name localhost, sessions of two people, and authenticators
 * in software in place of their browsers' ones.
 */

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

  it('are removed soon after signing in, and the page says so otherwise', async () => {
    const { id } = (await add()).data['passkey'] as Shown;
    service.harness.clock.advance(QUARTER_MS + 1);
    for (const [client, known] of [
      [ada, id],
      [ada, 'AAAA'],
      [bob, id],
    ] as const) {
      const answer = await client.post('/passkeys/remove', { id: known });
      expect(answer).to.include({ status: 403, code: 'RECENT_SIGN_IN_REQUIRED' });
      expect(answer.message).to.include('sign in again');
    }
    expect(await ada.post('/passkeys/rename', { id, name: 'phone' })).to.include({ status: 200 });
    expect(await listOf(ada)).to.have.lengthOf(1);
    expect(await (await browserOf(service.person)).post('/passkeys/remove', { id })).to.include({ status: 200 });
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
    const plain = await OAuthHarness.open({ publicUrl: () => 'http://pictures.example' });
    const { cookie } = await clientOf(plain, plain.person);
    const client = new ConsoleClient(plain.origin, cookie);
    expect((await client.get('/passkeys')).data).to.deep.equal({ passkeys: [], can_be_used: false });
    const begun = await client.post('/passkeys/begin', {}, { Origin: 'http://pictures.example' });
    expect(begun).to.include({ status: 404, code: 'NOT_FOUND' });
    await plain.close();
  });

  it('can be used under localhost and not under a number, where that is the public address', async () => {
    const plain = await OAuthHarness.open();
    const { cookie } = await clientOf(plain, plain.person);
    const canBeUsedAt = async (address: string) =>
      (await new ConsoleClient(address, cookie).get('/passkeys')).data['can_be_used'];
    expect(await canBeUsedAt(plain.origin)).to.equal(false);
    const named = plain.origin.replace('127.0.0.1', 'localhost');
    expect(await canBeUsedAt(named)).to.equal(true);
    const begun = await new ConsoleClient(named, cookie).post('/passkeys/begin');
    expect(begun.data).to.include({ rp_id: 'localhost' });
    await plain.close();
  });
});
