/*
 * Goal: clients find everything from the address of a resource alone, by documents that a strict reader takes.
 * Method: oauth4webapi reads the documents of a service over HTTP in this process, and goes on with what they say.
 */
import { expect } from 'chai';
import * as oauth from 'oauth4webapi';
import { OAuthHarness, REDIRECT } from './oauth-harness.js';

const LOCAL = { [oauth.allowInsecureRequests]: true } as const;

describe('the public documents of OAuth', () => {
  let service: OAuthHarness;
  before(async () => {
    service = await OAuthHarness.open();
  });
  after(() => service.close());

  for (const path of ['/api/v1/developer', '/api/v1/developer/mcp'])
    it(`lead from ${path} to tokens for it`, async () => {
      const resource = new URL(service.origin + path);
      const protectedResource = await oauth.processResourceDiscoveryResponse(
        resource,
        await oauth.resourceDiscoveryRequest(resource, LOCAL),
      );
      const issuer = new URL(protectedResource.authorization_servers?.[0] ?? '');
      const server = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { ...LOCAL, algorithm: 'oauth2' }),
      );
      const registered = await oauth.processDynamicClientRegistrationResponse(
        await oauth.dynamicClientRegistrationRequest(server, { redirect_uris: [REDIRECT] }, LOCAL),
      );
      const client: oauth.Client = { client_id: registered.client_id };
      const { path: asked, verifier, state } = service.request(client.client_id, { resource: resource.href });
      expect(server.authorization_endpoint).to.equal(service.origin + new URL(asked, service.origin).pathname);
      const browser = await service.signedIn();
      const callback = await service.allow(browser, await browser.open(asked));
      const params = oauth.validateAuthResponse(server, client, callback, state);
      const tokens = await oauth.processAuthorizationCodeResponse(
        server,
        client,
        await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), params, REDIRECT, verifier, LOCAL),
      );
      const audience = path.endsWith('mcp') ? 'mcp' : 'rest';
      const caller = await service.harness.authenticator.authenticate(tokens.access_token, audience);
      expect(caller.accountId).to.equal(service.person.accountId);
    });

  it('may be read by a page of any origin', async () => {
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/api/v1/developer',
      '/.well-known/oauth-protected-resource/api/v1/developer/mcp',
    ]) {
      const { headers } = await fetch(service.origin + path, { headers: { Origin: 'https://inspector.example' } });
      expect(headers.get('access-control-allow-origin'), path).to.equal('*');
    }
  });

  it('name scopes of the interface only, and no way that is weaker', async () => {
    const response = await fetch(`${service.origin}/.well-known/oauth-authorization-server`);
    const document = (await response.json()) as Record<string, readonly string[]>;
    const usual = ['credits:read', 'generations:read', 'generations:write', 'uploads:write'];
    expect(document['scopes_supported']).to.deep.equal([...usual, 'webhooks:manage']);
    const resource = await fetch(`${service.origin}/.well-known/oauth-protected-resource/api/v1/developer`);
    expect(await resource.json(), 'what a program asks for that does not choose').to.have.deep.property(
      'scopes_supported',
      usual,
    );
    expect(document['code_challenge_methods_supported']).to.deep.equal(['S256']);
    expect(document['response_types_supported']).to.deep.equal(['code']);
    expect(document['grant_types_supported']).not.to.include.members(['implicit']);
  });
});
