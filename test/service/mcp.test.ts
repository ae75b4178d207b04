// Goal: the real program serves MCP as its configuration says.
// Method: the compiled program as a child process; a client of the protocol makes a picture from it.
import { expect } from 'chai';
import { asText, codeOf, connectClient, modernMessage } from '../fronts/mcp/mcp-harness.js';
import { LiveService } from './live-service.js';

const PATH = '/api/v1/developer/mcp';

describe('the MCP server of the program', () => {
  let service: LiveService;
  afterEach(() => service.remove());

  it('makes a picture for a client, and asks before it spends more than it may', async () => {
    service = await LiveService.start({ config: { mcp: { confirm_above_credits: 4 } } });
    const { secret } = await service.tenant(100);
    const client = await connectClient(service.url + PATH, '2026-07-28', secret);
    const wanted = { model_key: 'sandbox-image', prompt: 'a lighthouse', wait_seconds: 50 };
    const made = await client.call('generate_image', { ...wanted, idempotency_key: 'one' });
    expect(made.structuredContent).to.include({ status: 'succeeded', charged_credits: 4 });
    expect(made.content.map(({ type }) => type)).to.deep.equal(['text', 'image', 'resource_link']);
    const file = await fetch(asText(made.content[2]?.['uri']));
    expect([file.status, file.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
    const dear = await client.call('generate_image', { ...wanted, parameters: { n: 2 }, idempotency_key: 'two' });
    expect(codeOf(dear)).to.equal('SPENDING_NOT_CONFIRMED');
    await client.close();
  });

  it('accepts pages of the configured origins, and no others', async () => {
    service = await LiveService.start({ config: { mcp: { allowed_origins: ['https://App.example/'] } } });
    const preflight = async (origin: string) => {
      const { status, headers } = await fetch(service.url + PATH, {
        method: 'OPTIONS',
        headers: { 'Origin': origin, 'Access-Control-Request-Method': 'POST' },
      });
      return [status, headers.get('access-control-allow-origin')];
    };
    expect(await preflight('https://app.example')).to.deep.equal([204, 'https://app.example']);
    expect(await preflight('https://other.example')).to.deep.equal([403, null]);
  });

  it('says its whole address below a path, to a client without a credential too', async () => {
    const publicUrl = 'https://example.org/darkroom';
    const off = { enabled: false };
    service = await LiveService.start({ config: { rest: { public_url: publicUrl }, sign_in: off, oauth: off } });
    const card = (await (await fetch(`${service.url}${PATH}/server-card`)).json()) as Record<string, unknown>;
    expect(card).to.have.deep.nested.property('remotes[0].url', publicUrl + PATH);
    const { body, headers } = modernMessage('server/discover');
    const send = (message: object) =>
      fetch(service.url + PATH, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(message),
      });
    expect((await send(body)).status).to.equal(200);
    const refused = await fetch(service.url + PATH, { method: 'POST' });
    expect([refused.status, refused.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer']);
  });

  it('is not there when it is turned off', async () => {
    service = await LiveService.start({ config: { mcp: { enabled: false } } });
    const { status } = await fetch(service.url + PATH, { method: 'POST' });
    expect(status).to.equal(404);
  });
});
