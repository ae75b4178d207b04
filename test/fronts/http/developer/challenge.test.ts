/*
 * Goal: a refused client learns from the answer where it gets a token and what it lacks, and is not sent in circles.
 * Method: requests to the API of a whole service in this process, with credentials that are refused for each reason.
 */
import { expect } from 'chai';
import { createApp, createKey, revokeKey } from '../../../../core/access/manage.js';
import { OAuthHarness } from '../../oauth/oauth-harness.js';

const OTHER_APP = '0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60';

describe('WWW-Authenticate of the API', () => {
  let service: OAuthHarness;
  let metadata: string;
  before(async () => {
    service = await OAuthHarness.open();
    metadata = `resource_metadata="${service.origin}/.well-known/oauth-protected-resource/api/v1/developer"`;
  });
  after(() => service.close());

  const challengeOf = async (credential: string | undefined, headers: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(`${service.origin}/api/v1/developer/credits`, {
      headers: { ...(credential === undefined ? {} : { Authorization: `Bearer ${credential}` }), ...headers },
    });
    return `${response.status} ${response.headers.get('www-authenticate')}`;
  };
  const key = async (scopes?: readonly string[]) => {
    const { context } = service.harness;
    const { appId } = await createApp(context, { accountId: service.person.accountId, name: 'an App' });
    return createKey(context, { appId, name: 'a key', ...(scopes === undefined ? {} : { scopes }) });
  };

  it('names no error where no credential was sent', async () => {
    expect(await challengeOf(undefined)).to.equal(`401 Bearer ${metadata}`);
  });

  it('names an invalid token', async () => {
    const { secret, key: created } = await key();
    await revokeKey(service.harness.context, created.keyId);
    for (const credential of [secret, 'svc_live_x', `svc_oauth_${'A'.repeat(43)}`, 'x'])
      expect(await challengeOf(credential)).to.equal(`401 Bearer error="invalid_token", ${metadata}`);
  });

  it('names the scope that is missing', async () => {
    const { secret } = await key(['uploads:write']);
    expect(await challengeOf(secret)).to.equal(
      `403 Bearer error="insufficient_scope", scope="credits:read", ${metadata}`,
    );
  });

  it('names no scope where another App is asked for: no scope would change that', async () => {
    const { secret } = await key();
    expect(await challengeOf(secret, { 'X-App-Id': OTHER_APP })).to.equal(`403 Bearer ${metadata}`);
  });

  it('is not on other answers', async () => {
    const { secret } = await key();
    expect(await challengeOf(secret)).to.equal('200 null');
  });

  it('names no metadata where no tokens are given out', async () => {
    const without = await OAuthHarness.open({ people: { hasOAuth: false } });
    const { headers } = await fetch(`${without.origin}/api/v1/developer/credits`);
    const document = await fetch(`${without.origin}/.well-known/oauth-protected-resource/api/v1/developer`);
    await without.close();
    expect(headers.get('www-authenticate')).to.equal('Bearer');
    expect(document.status).to.equal(404);
  });
});
