import { expect } from 'chai';
import { readFileSync } from 'node:fs';
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

describe('access to the MCP server', () => {
  let mcp: McpHarness;
  let metadata: string;
  before(async () => {
    mcp = await McpHarness.open();
    metadata = `resource_metadata="${mcp.origin}/.well-known/oauth-protected-resource${MCP}"`;
  });
  after(() => mcp.close());

  const bearer = (credential: string) => ({ Authorization: `Bearer ${credential}` });
  const challenge = async (message: unknown, headers: Record<string, string> = {}): Promise<string> => {
    const response = await mcp.post(message, headers);
    await response.text();
    return `${response.status} ${response.headers.get('www-authenticate')}`;
  };
  const codeFrom = async (response: Response): Promise<string> =>
    asText(((await response.json()) as JsonObject)['code']);

  describe('with a credential', () => {
    it('is refused without one, and where to get one is said', async () => {
      expect(await challenge(LIST)).to.equal(`401 Bearer ${metadata}`);
    });

    it('is refused with one that is not valid', async () => {
      for (const credential of ['x', 'svc_live_x', `svc_oauth_${'A'.repeat(43)}`, 'svc_anon_1'])
        expect(await challenge(LIST, bearer(credential)), credential).to.equal(
          `401 Bearer error="invalid_token", ${metadata}`,
        );
    });

    it('is refused with a token for REST, as REST refuses one for MCP', async () => {
      const [forRest, forMcp] = [await mcp.token('rest'), await mcp.token('mcp')];
      expect(await challenge(LIST, bearer(forRest))).to.equal(`401 Bearer error="invalid_token", ${metadata}`);
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
      expect(await challenge(LIST, bearer(secret))).to.equal(`401 Bearer error="invalid_token", ${metadata}`);
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
      }
    });

    it('is given to pages of its own origin', async () => {
      expect((await mcp.post(LIST, { ...bearer(await mcp.key()), Origin: mcp.origin })).status).to.equal(200);
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

/*
 * Goal: clients find the server and its authorization from the address of the host alone, and every document says the
 * same of it as the server itself.
 * Method: the documents read over HTTP as a stranger, followed from one to the next, under a forged Host too.
 */

const CATALOG = '/.well-known/ai-catalog.json';

describe('the discovery of the MCP server', () => {
  let mcp: McpHarness;
  before(async () => {
    mcp = await McpHarness.open();
  });
  after(() => mcp.close());

  const read = async (url: string): Promise<{ readonly type: string | null; readonly body: JsonObject }> => {
    const response = await fetch(url, { headers: { Origin: 'https://somewhere.example' } });
    expect(response.status, url).to.equal(200);
    expect(response.headers.get('access-control-allow-origin'), url).to.equal('*');
    return { type: response.headers.get('content-type'), body: (await response.json()) as JsonObject };
  };

  it('leads from the catalog over the card to the server, which has the version of the package', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const catalog = await read(mcp.origin + CATALOG);
    expect(catalog.type).to.equal('application/ai-catalog+json');
    const [entry] = catalog.body['entries'] as JsonObject[];
    expect(entry).to.include({
      identifier: 'urn:air:127.0.0.1:mcp:darkroom',
      type: 'application/mcp-server-card+json',
      version,
    });
    const card = await read(asText(entry?.['url']));
    expect(card.type).to.equal('application/mcp-server-card+json');
    expect(card.body).to.include({ name: '127.0.0.1/darkroom', version, title: 'Darkroom' });
    expect(asText(card.body['description']).length).to.be.at.most(100);
    expect(card.body['remotes']).to.deep.equal([
      {
        type: 'streamable-http',
        url: mcp.url,
        supportedProtocolVersions: ['2026-07-28', '2025-11-25', '2025-06-18'],
      },
    ]);
    for (const revision of REVISIONS) {
      const client = await mcp.connect(revision, await mcp.key());
      expect(client.serverVersion).to.include({ name: 'darkroom', version });
    }
  });

  it('leads from the refusal of the server to its metadata', async () => {
    const challenge = (await mcp.post({})).headers.get('www-authenticate') ?? '';
    const [, address = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    expect((await read(address)).body).to.include({ resource: mcp.url });
  });

  it('ignores the address in a forged Host', async () => {
    const { port } = new URL(mcp.origin);
    for (const path of [CATALOG, `${MCP}/server-card`]) {
      const text = await new Promise<string>((resolve, reject) => {
        request({ port, path, headers: { 'Host': 'evil.example', 'X-Forwarded-Host': 'evil.example' } }, (response) => {
          let got = '';
          response.on('data', (chunk: Buffer) => (got += chunk.toString())).on('end', () => resolve(got));
        })
          .on('error', reject)
          .end();
      });
      expect(text).to.include(mcp.origin);
      expect(text).not.to.include('evil.example');
    }
  });
});
