import { expect } from 'chai';
import { request } from 'node:http';
import { CREDENTIAL_CACHE_MS } from '../../../core/access/authenticate.js';
import { createApp, revokeKey } from '../../../core/access/manage.js';
import type { JsonObject } from '../../../core/json.js';
import { BASE } from '../http/host/rest-client.js';
import { asText, codeOf, MCP, McpHarness, modernMessage, picture, REVISIONS } from './mcp-harness.js';

/*
 * Goal: nobody uses the MCP server without a credential for it, from a page of another origin, beyond their scopes or
 * around the rates of REST; and a refused client learns where it gets a token.
 * Method: messages over HTTP to a whole service in this process, with credentials that are refused for each reason.
 */

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const call = (name: string, args: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

const WANTED = 'authorization,content-type,mcp-method,mcp-protocol-version,mcp-session-id';
const preflight = (url: string, origin: string): Promise<Response> =>
  fetch(url, {
    method: 'OPTIONS',
    headers: {
      'Origin': origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': WANTED,
    },
  });

describe('access to the MCP server', () => {
  let mcp: McpHarness;
  let metadata: string;
  before(async () => {
    mcp = await McpHarness.open();
    metadata = `resource_metadata="${mcp.origin}/.well-known/oauth-protected-resource${MCP}"`;
  });
  after(() => mcp.close());

  const scopes = 'scope="credits:read generations:read generations:write uploads:write"';
  const bearer = (credential: string) => ({ Authorization: `Bearer ${credential}` });
  const challenge = async (message: unknown, headers: Record<string, string> = {}): Promise<string> => {
    const response = await mcp.post(message, headers);
    await response.text();
    return `${response.status} ${response.headers.get('www-authenticate')}`;
  };
  const codeFrom = async (response: Response): Promise<string> =>
    asText(((await response.json()) as JsonObject)['code']);

  describe('with a credential', () => {
    for (const method of ['initialize', 'ping', 'tools/list', 'tools/call'])
      it(`is needed for ${method}: the refusal says where to get one, and with which scopes`, async () => {
        const message = { ...call('get_credits'), method };
        const { body, headers } = modernMessage(method, { name: 'get_credits', arguments: {} });
        expect(await challenge(message)).to.equal(`401 Bearer ${scopes}, ${metadata}`);
        expect(await challenge(body, headers)).to.equal(`401 Bearer ${scopes}, ${metadata}`);
      });

    it('is needed whatever the body is', async () => {
      const long = JSON.stringify({ ...LIST, params: { x: 'x'.repeat(100_000) } });
      for (const body of ['', '{', '[]', '"text"', long, { jsonrpc: '2.0', id: 1, result: {} }])
        expect(await challenge(body)).to.equal(`401 Bearer ${scopes}, ${metadata}`);
    });

    it('is refused with one that is not valid', async () => {
      for (const credential of ['x', 'svc_live_x', `svc_oauth_${'A'.repeat(43)}`, 'svc_anon_1'])
        expect(await challenge(LIST, bearer(credential)), credential).to.equal(
          `401 Bearer error="invalid_token", ${scopes}, ${metadata}`,
        );
    });

    it('is refused with a token for REST, as REST refuses one for MCP', async () => {
      const [forRest, forMcp] = [await mcp.token('rest'), await mcp.token('mcp')];
      expect(await challenge(LIST, bearer(forRest))).to.equal(
        `401 Bearer error="invalid_token", ${scopes}, ${metadata}`,
      );
      expect((await mcp.rest(forMcp, 'GET', '/credits'))['code']).to.equal('DEVELOPER_TOKEN_INVALID');
      expect(await challenge(LIST, bearer(forMcp))).to.equal('200 null');
      expect((await mcp.rest(forRest, 'GET', '/credits'))['code']).to.equal('OK');
    });

    for (const revision of REVISIONS)
      it(`is given to API keys and to tokens for it, in ${revision}`, async () => {
        for (const credential of [await mcp.key(), await mcp.token('mcp')]) {
          const client = await mcp.connect(revision, credential);
          expect((await client.call('get_credits')).structuredContent).to.have.property('balance_credits', 1_000);
        }
      });

    it('ends within seconds of its revocation, also for a call that would wait for much longer', async () => {
      const { context, clock } = mcp.service;
      const secret = await mcp.key();
      const { keyId } = (await context.credentials.findKey({ digest: context.digests.keyed(secret) })) ?? { keyId: '' };
      const client = await mcp.connect('2026-07-28', secret);
      const onprogress = (): void => {
        void revokeKey(context, keyId);
        clock.advance(CREDENTIAL_CACHE_MS);
      };
      const args = picture('revoked', { model_key: 'picture-held', wait_seconds: 50 });
      const startedAt = Date.now();
      const answer = await client.call('generate_image', args, { onprogress });
      expect(codeOf(answer)).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect(Date.now() - startedAt, 'much less than the wait').to.be.below(25_000);
      expect(context.generationWatch.followed).to.equal(0);
      expect(await challenge(LIST, bearer(secret))).to.equal(
        `401 Bearer error="invalid_token", ${scopes}, ${metadata}`,
      );
    });
  });

  describe('with scopes', () => {
    const NEEDED: Readonly<Record<string, readonly [scope: string, args?: JsonObject]>> = {
      get_credits: ['credits:read'],
      estimate_generation: ['generations:write'],
      generate_image: ['generations:write'],
      generate_video: ['generations:write'],
      get_generation: ['generations:read'],
      cancel_generation: ['generations:write'],
      prepare_upload: ['uploads:write'],
      complete_upload: ['uploads:write'],
    };
    for (const [tool, [scope]] of Object.entries(NEEDED))
      it(`refuses ${tool} without ${scope}, with a challenge in both eras`, async () => {
        const others = (['credits:read', 'generations:read', 'generations:write', 'uploads:write'] as const).filter(
          (one) => one !== scope,
        );
        const secret = await mcp.key(others);
        const expected = `403 Bearer error="insufficient_scope", scope="${scope}", ${metadata}`;
        expect(await challenge(call(tool), bearer(secret))).to.equal(expected);
        const { body, headers } = modernMessage('tools/call', { name: tool, arguments: {} });
        expect(await challenge(body, { ...bearer(secret), ...headers })).to.equal(expected);
      });

    it('needs uploads:write as well for reference pictures', async () => {
      const secret = await mcp.key(['generations:write']);
      const message = call('generate_image', { reference_pictures: [{ data: 'AAAA', media_type: 'image/png' }] });
      expect(await challenge(message, bearer(secret))).to.equal(
        `403 Bearer error="insufficient_scope", scope="uploads:write", ${metadata}`,
      );
    });

    it('lists all tools and all models whatever the scopes', async () => {
      const client = await mcp.connect('2026-07-28', await mcp.key(['uploads:write']));
      expect(await client.tools()).to.have.length(9);
      expect((await client.call('list_models')).structuredContent).to.have.property('models');
    });

    it('refuses another App with no scope to ask for', async () => {
      const { appId } = await createApp(mcp.service.context, { accountId: mcp.owner.accountId, name: 'other' });
      expect(await challenge(LIST, { ...bearer(await mcp.key()), 'X-App-Id': appId })).to.equal(
        `403 Bearer ${metadata}`,
      );
    });
  });

  describe('from a browser', () => {
    it('is refused to pages of other origins, before the credential is looked at', async () => {
      for (const origin of ['https://evil.example', 'null', `${mcp.origin}0`]) {
        const response = await mcp.post(LIST, { Origin: origin });
        expect([response.status, await codeFrom(response)], origin).to.deep.equal([403, 'ORIGIN_REFUSED']);
        expect(response.headers.get('access-control-allow-origin')).to.equal(null);
        const refused = await preflight(mcp.url, origin);
        expect([refused.status, refused.headers.get('access-control-allow-origin')]).to.deep.equal([403, null]);
      }
    });

    it('is given to pages of its own origin', async () => {
      const key = bearer(await mcp.key());
      const names = [mcp.origin, mcp.origin.replace('127.0.0.1', 'localhost')];
      for (const origin of names)
        expect((await mcp.post(LIST, { ...key, Origin: origin })).status, origin).to.equal(200);
    });

    const statusFor = (host: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const { port } = new URL(mcp.origin);
        const sent = request({ port, path: MCP, method: 'POST', headers: { host }, setHost: false }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        sent.on('error', reject).end();
      });

    it('is refused under a name that is not its own', async () => {
      expect(await statusFor('evil.example')).to.equal(403);
      expect(await statusFor('evil.example:80')).to.equal(403);
      expect(await statusFor('127.0.0.1.evil.example')).to.equal(403);
      expect(await statusFor('a b')).to.equal(403);
    });

    it('goes by its public name, by localhost and by addresses', async () => {
      for (const host of ['127.0.0.1', 'localhost:1', '[::1]:8080', '192.0.2.7'])
        expect(await statusFor(host)).to.equal(401);
    });
  });
});

/*
 * Goal: pages of the origins that the operator lists use the server, and can read why they were refused.
 * Method: the requests of a browser, sent to a service with two such origins.
 */

describe('the MCP server for pages of allowed origins', () => {
  const APP = 'https://app.example';
  let mcp: McpHarness;
  before(async () => {
    mcp = await McpHarness.open({
      mcp: { confirmAboveCredits: 100, allowedOrigins: [APP, 'chrome-extension://abcdefgh'] },
    });
  });
  after(() => mcp.close());

  it('allows the headers that a page wants to send, at the address with a slash too', async () => {
    for (const origin of [APP, 'chrome-extension://abcdefgh'])
      for (const url of [mcp.url, `${mcp.url}/`]) {
        const { status, headers } = await preflight(url, origin);
        expect(status).to.equal(204);
        expect(headers.get('access-control-allow-origin')).to.equal(origin);
        expect(headers.get('access-control-allow-methods')).to.equal('GET, POST, DELETE');
        expect(headers.get('access-control-allow-headers')).to.equal(WANTED);
        expect(headers.get('vary')).to.include('Origin');
      }
  });

  it('exposes results, refusals and the headers that clients need to them', async () => {
    const authorization = { Authorization: `Bearer ${await mcp.key()}` };
    const answers = [
      await mcp.post(LIST, { ...authorization, Origin: APP }),
      await mcp.post(LIST, { Origin: APP }),
      await mcp.post(call('get_credits'), { Authorization: `Bearer ${await mcp.key(['uploads:write'])}`, Origin: APP }),
      await mcp.post('{', { ...authorization, Origin: APP }),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 401, 403, 400]);
    for (const { status, headers } of answers) {
      expect(headers.get('access-control-allow-origin'), `${status}`).to.equal(APP);
      const exposed = headers.get('access-control-expose-headers')?.split(', ');
      expect(exposed).to.include.members(['WWW-Authenticate', 'Mcp-Session-Id', 'Mcp-Protocol-Version', 'Retry-After']);
    }
  });

  it('refuses others, and names that only look alike', async () => {
    for (const origin of [`${APP}.evil.example`, `${APP}:8443`, 'http://app.example', 'https://evil.example', 'null']) {
      const refused = await preflight(mcp.url, origin);
      expect([refused.status, refused.headers.get('access-control-allow-origin')], origin).to.deep.equal([403, null]);
      expect((await mcp.post(LIST, { Origin: origin })).status, origin).to.equal(403);
    }
  });

  it('shows them that there is no stream and no session to delete', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await fetch(mcp.url, { method, headers: { Origin: APP } });
      expect([status, headers.get('allow'), headers.get('access-control-allow-origin')]).to.deep.equal([
        405,
        'OPTIONS, POST',
        APP,
      ]);
      expect((await fetch(mcp.url, { method, headers: { Origin: 'https://evil.example' } })).status).to.equal(403);
    }
  });

  it('answers OPTIONS of a program with the accepted methods', async () => {
    const { status, headers } = await fetch(mcp.url, { method: 'OPTIONS' });
    expect([status, headers.get('allow')]).to.deep.equal([204, 'OPTIONS, POST']);
  });
});

describe('the rates of the MCP server', () => {
  it('are those of REST: what one counts, the other misses', async () => {
    const mcp = await McpHarness.open({ limits: { readsPerMinute: 4, writesPerMinute: 0 } });
    try {
      const secret = await mcp.key();
      const headers = { Authorization: `Bearer ${secret}` };
      for (let sent = 0; sent < 2; sent += 1) expect((await mcp.post(LIST, headers)).status).to.equal(200);
      for (let sent = 0; sent < 2; sent += 1)
        expect((await mcp.rest(secret, 'GET', '/credits'))['code']).to.equal('OK');
      expect((await mcp.rest(secret, 'GET', '/credits'))['code']).to.equal('RATE_LIMITED');
      const refused = await mcp.post(LIST, headers);
      expect([refused.status, refused.headers.has('retry-after')]).to.deep.equal([429, true]);
    } finally {
      await mcp.close();
    }
  });

  it('count a tool that changes something as a write, and a long message by its size', async () => {
    const mcp = await McpHarness.open({ limits: { readsPerMinute: 100, writesPerMinute: 1 } });
    try {
      const headers = { Authorization: `Bearer ${await mcp.key()}` };
      const refusedTool = call('cancel_generation', { generation_id: 'x' });
      expect((await mcp.post(refusedTool, headers)).status).to.equal(200);
      expect((await mcp.post(refusedTool, headers)).status).to.equal(429);
      expect((await mcp.post(call('get_credits'), headers)).status).to.equal(200);
      const long = await mcp.post(call('get_credits', { x: 'x'.repeat(16 * 1024 * 200) }), headers);
      expect(long.status).to.equal(429);
    } finally {
      await mcp.close();
    }
  });

  it('count invalid credentials for where they come from, together with those of REST', async () => {
    const mcp = await McpHarness.open({ limits: { failedAuthenticationsPerMinute: 2 } });
    try {
      const wrong = { Authorization: 'Bearer x' };
      expect((await mcp.post(LIST, wrong)).status).to.equal(401);
      expect((await fetch(`${mcp.origin}${BASE}/credits`, { headers: wrong })).status).to.equal(401);
      expect((await mcp.post(LIST, wrong)).status).to.equal(429);
      expect((await mcp.post(LIST, { Authorization: `Bearer ${await mcp.key()}` })).status).to.equal(200);
    } finally {
      await mcp.close();
    }
  });
});

describe('an installation without the MCP server', () => {
  it('answers nothing of it, and gives out no tokens for it', async () => {
    const mcp = await McpHarness.open({ mcp: undefined });
    try {
      for (const path of [
        MCP,
        `${MCP}/server-card`,
        '/.well-known/ai-catalog.json',
        `/.well-known/oauth-protected-resource${MCP}`,
      ])
        expect((await fetch(mcp.origin + path)).status, path).to.equal(404);
      expect((await mcp.post(LIST, { Authorization: `Bearer ${await mcp.key()}` })).status).to.equal(404);
      const answer = await fetch(`${mcp.origin}/oauth/device/code`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ client_id: await registered(mcp), resource: mcp.url }).toString(),
      });
      expect(await answer.json()).to.have.property('error', 'invalid_target');
    } finally {
      await mcp.close();
    }
  });
});

async function registered(mcp: McpHarness): Promise<string> {
  const response = await fetch(`${mcp.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      client_name: 'a client',
      redirect_uris: ['http://127.0.0.1:3999/callback'],
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'authorization_code'],
    }),
  });
  return asText(((await response.json()) as JsonObject)['client_id']);
}
