/*
 * Goal: a code is exchanged once, also by twelve at the same time, and its reuse ends what came of it. A refresh token is
 * replaced at each use; processes of one client may use it at the same time; later use ends the whole connection. What is
 * made while a connection ends does not outlive it.
 * Method: the whole service over HTTP in this process. A store around the memory adapter delays reads, so that what is
 * decided by what was read a moment ago goes wrong.
 */
import { expect } from 'chai';
import { disconnect, listGrants } from '../../../core/people/grants.js';
import type { TestBrowser } from '../../harness/test-browser.js';
import { type Answer, OAuthHarness } from './oauth-harness.js';

const GRACE_MS = 30_000;
const TWELVE = Array.from({ length: 12 }, (_, index) => index);
const accessToken = ({ body }: Answer) => String(body['access_token']);

describe('OAuth codes and refresh tokens', () => {
  let service: OAuthHarness;
  let browser: TestBrowser;
  let clientId: string;
  beforeEach(async () => {
    service = await OAuthHarness.open({}, { storeDelayMs: 5 });
    browser = await service.signedIn();
    clientId = await service.register();
  });
  afterEach(() => service.close());

  async function code(): Promise<{ readonly code: string; readonly verifier: string }> {
    const { path, verifier } = service.request(clientId);
    const callback = await service.allow(browser, await browser.open(path));
    return { code: callback.searchParams.get('code') ?? '', verifier };
  }

  it('exchange a code for one of twelve at the same time', async () => {
    const { code: secret, verifier } = await code();
    const answers = await Promise.all(TWELVE.map(() => service.exchange(clientId, secret, verifier)));
    expect(answers.filter(({ status }) => status === 200)).to.have.lengthOf(1);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ body }) => body['error'])).to.deep.equal(refused.map(() => 'invalid_grant'));
  });

  it('end the tokens of a code that is used again', async () => {
    const { code: secret, verifier } = await code();
    const first = await service.exchange(clientId, secret, verifier);
    expect((await service.call(accessToken(first))).status).to.equal(200);
    const again = await service.exchange(clientId, secret, verifier);
    expect(again.body['error']).to.equal('invalid_grant');
    service.harness.authenticator.close();
    expect((await service.call(accessToken(first))).body['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
    const refreshed = await service.refresh(clientId, String(first.body['refresh_token']));
    expect(refreshed.body['error']).to.equal('invalid_grant');
  });

  it('refuse a code with another verifier, client or redirect address', async () => {
    const { code: secret, verifier } = await code();
    const other = await service.register();
    const right = { grant_type: 'authorization_code', client_id: clientId, code: secret, code_verifier: verifier };
    const elsewhere = { ...right, redirect_uri: 'http://127.0.0.1:3999/other' };
    const answers = [
      await service.exchange(clientId, secret, 'x'.repeat(43)),
      await service.exchange(other, secret, verifier),
      await service.token(elsewhere),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 400]);
    expect((await service.exchange(clientId, secret, verifier)).status).to.equal(200);
  });

  it('refuse a code after a minute', async () => {
    const { code: secret, verifier } = await code();
    const { artefacts, clock } = service.harness.context;
    service.harness.clock.advance(61_000);
    await artefacts.removeExpired(clock.now() + 86_400_000, 1_000);
    expect((await service.exchange(clientId, secret, verifier)).body['error']).to.equal('invalid_grant');
  });

  it('replace the refresh token at each use', async () => {
    const { refresh_token: first } = await service.connect(browser, clientId);
    const { body } = await service.refresh(clientId, first);
    expect(body['refresh_token']).to.be.a('string').and.not.equal(first);
    expect((await service.refresh(clientId, String(body['refresh_token']))).status).to.equal(200);
  });

  it('let twelve processes of a client refresh at the same time', async () => {
    const { refresh_token: refresh } = await service.connect(browser, clientId);
    const answers = await Promise.all(TWELVE.map(() => service.refresh(clientId, refresh)));
    expect(answers.map(({ status }) => status)).to.deep.equal(TWELVE.map(() => 200));
    for (const answer of answers) expect((await service.call(accessToken(answer))).status).to.equal(200);
    const next = await service.refresh(clientId, String(answers[3]?.body['refresh_token']));
    expect(next.status).to.equal(200);
  });

  it('end the connection when a used refresh token is used later', async () => {
    const { refresh_token: first } = await service.connect(browser, clientId);
    const second = await service.refresh(clientId, first);
    service.harness.clock.advance(GRACE_MS + 1);
    expect((await service.refresh(clientId, first)).body['error']).to.equal('invalid_grant');
    expect((await service.call(accessToken(second))).body['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
    const { body } = await service.refresh(clientId, String(second.body['refresh_token']));
    expect(body['error']).to.equal('invalid_grant');
    expect(await listGrants(service.harness.context, service.person.personId)).to.deep.equal([]);
  });

  it('give a refreshed token no scope and no resource beyond those of the grant', async () => {
    const asked = { scope: 'credits:read' };
    const { refresh_token: refresh } = await service.connect(browser, clientId, asked);
    const wider = await service.refresh(clientId, refresh, { scope: 'credits:read generations:write' });
    expect(wider.body['error']).to.equal('invalid_scope');
    const elsewhere = await service.refresh(clientId, refresh, { resource: `${service.origin}/api/v1/developer/mcp` });
    expect(elsewhere.body['error']).to.equal('invalid_target');
    expect((await service.refresh(clientId, refresh)).body['scope']).to.equal('credits:read');
  });

  it('refuse the refresh token of another client', async () => {
    const { refresh_token: refresh } = await service.connect(browser, clientId);
    const other = await service.register();
    expect((await service.refresh(other, refresh)).body['error']).to.equal('invalid_grant');
    expect((await service.refresh(clientId, refresh)).status).to.equal(200);
  });

  it('leave no token of a connection that ends while it is refreshed', async () => {
    const { context } = service.harness;
    const { personId } = service.person;
    for (const afterMs of [0, 3, 6, 9, 12, 15, 18, 24]) {
      const { refresh_token: refresh } = await service.connect(browser, clientId);
      const [grant] = await listGrants(context, personId);
      const ended = new Promise((resolve) => {
        setTimeout(resolve, afterMs);
      }).then(() => disconnect(context, personId, grant?.grantId ?? ''));
      const [answer] = await Promise.all([service.refresh(clientId, refresh), ended]);
      if (answer.status !== 200) continue;
      service.harness.authenticator.close();
      expect((await service.call(accessToken(answer))).body['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect((await service.refresh(clientId, String(answer.body['refresh_token']))).status).to.equal(400);
    }
  });
});
