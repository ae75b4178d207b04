import { expect } from 'chai';
import { ANSWER_WITHIN_MS, ClientRequests } from '../../../apps/http/mcp/elicitation.js';
import { MAX_MESSAGE_BYTES } from '../../../apps/http/mcp/mcp-front.js';
import { CREDENTIAL_CACHE_MS } from '../../../core/access/authenticate.js';
import { revokeKey } from '../../../core/access/manage.js';
import type { JsonObject } from '../../../core/json.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { codeOf, SeededIds } from '../../fixtures/memory-stores.js';
import { asText, McpHarness, modernMessage } from './mcp-harness.js';

/*
 * Goal: invalid, oversized and ambiguous messages are refused before the protocol handles them, and exactly the named
 * revisions are served.
 * Method: bytes posted to a whole service in this process.
 */

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('a message to the MCP server', () => {
  let mcp: McpHarness;
  let headers: Record<string, string>;
  before(async () => {
    mcp = await McpHarness.open();
    headers = { Authorization: `Bearer ${await mcp.key()}` };
  });
  after(() => mcp.close());

  const refusal = async (message: unknown, more: Record<string, string> = {}): Promise<string> => {
    const response = await mcp.post(message, { ...headers, ...more });
    return `${response.status} ${asText(((await response.json()) as JsonObject)['code'])}`;
  };

  it('is one JSON object, without repeated names, sent as JSON', async () => {
    expect(await refusal('{')).to.equal('400 BODY_INVALID');
    expect(await refusal('')).to.equal('400 BODY_INVALID');
    expect(await refusal([PING, PING])).to.equal('400 BODY_INVALID');
    expect(await refusal('"text"')).to.equal('400 BODY_INVALID');
    expect(await refusal('{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}')).to.equal(
      '400 BODY_INVALID',
    );
    expect(await refusal(PING, { 'Content-Type': 'text/plain' })).to.equal('415 MEDIA_TYPE_UNSUPPORTED');
  });

  for (const method of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'tools/CALL', 'tasks/list'])
    it(`is not taken for a known one with the method ${method}`, async () => {
      const { body, headers: framed } = modernMessage(method);
      const response = await mcp.post(body, { ...headers, ...framed });
      expect(await response.text()).to.include('-32601');
    });

  it('has a size that brings small pictures, and no more', async () => {
    const ofBytes = (bytes: number): string => {
      const text = JSON.stringify({ ...PING, params: { x: '' } });
      return text.replace('""', `"${'x'.repeat(bytes - text.length)}"`);
    };
    expect((await mcp.post(ofBytes(MAX_MESSAGE_BYTES), headers)).status).to.equal(200);
    expect(await refusal(ofBytes(MAX_MESSAGE_BYTES + 1))).to.equal('413 BODY_TOO_LARGE');
  });

  it('is posted: there is no stream to get and no session to delete', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await fetch(mcp.url, { method, headers });
      expect([response.status, response.headers.get('allow')], method).to.deep.equal([405, 'POST']);
    }
  });

  const initialize = async (protocolVersion: string, capabilities: JsonObject = {}): Promise<Response> =>
    mcp.post(
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion, capabilities, clientInfo: { name: 'test', version: '1' } },
      },
      headers,
    );
  const negotiated = async (response: Response): Promise<unknown> => {
    const [, data = '{}'] = /^data: (.*)$/m.exec(await response.text()) ?? [];
    return ((JSON.parse(data) as JsonObject)['result'] as JsonObject | undefined)?.['protocolVersion'];
  };

  it('is of a revision that is named, and of no older one', async () => {
    expect(await negotiated(await initialize('2025-11-25'))).to.equal('2025-11-25');
    expect(await negotiated(await initialize('2025-06-18'))).to.equal('2025-06-18');
    expect(await negotiated(await initialize('2024-11-05'))).to.equal('2025-11-25');
    const { body, headers: modern } = modernMessage('server/discover');
    const response = await mcp.post(body, { ...headers, ...modern });
    const { result } = (await response.json()) as { readonly result: JsonObject };
    expect(result['supportedVersions']).to.deep.equal(['2026-07-28']);
  });

  describe('that asks to listen', () => {
    const listen = async (credential: string): Promise<Response> => {
      const { body, headers: modern } = modernMessage('subscriptions/listen', { notifications: {} });
      return mcp.post(body, { ...modern, Authorization: `Bearer ${credential}` });
    };

    it('gets a stream that ends with its credential', async () => {
      const { context, clock } = mcp.service;
      const secret = await mcp.key();
      const response = await listen(secret);
      expect(response.headers.get('content-type')).to.include('text/event-stream');
      const { keyId } = (await context.credentials.findKey({ digest: context.digests.keyed(secret) })) ?? { keyId: '' };
      await revokeKey(context, keyId);
      clock.advance(CREDENTIAL_CACHE_MS);
      await response.text();
    });

    it('does not keep the process from stopping', async () => {
      const other = await McpHarness.open();
      const { body, headers: modern } = modernMessage('subscriptions/listen', { notifications: {} });
      const response = await other.post(body, { ...modern, Authorization: `Bearer ${await other.key()}` });
      const ended = response.text();
      await other.stop(60_000);
      await ended;
      await other.close();
    });
  });

  it('begins a session only for a client that can ask a person', async () => {
    const sessionOf = async (capabilities: JsonObject): Promise<string | null> => {
      const response = await initialize('2025-11-25', capabilities);
      await response.text();
      return response.headers.get('mcp-session-id');
    };
    expect(await sessionOf({})).to.equal(null);
    expect(await sessionOf({ elicitation: { url: {} } })).to.equal(null);
    expect(await sessionOf({ elicitation: {} })).to.match(/^asks-[0-9a-f-]{36}$/);
    expect(await sessionOf({ elicitation: { form: {}, url: {} } })).to.match(/^asks-/);
  });
});

/*
 * Goal: a question to a client accepts an answer only from that client, never waits longer than its call, and no
 * credential can make the process hold more than a few.
 * Method: the registry alone with a clock that the test moves and calls that the test ends.
 */

describe('requests to MCP clients', () => {
  let clock: ManualClock;
  let requests: ClientRequests;
  let sent: string[];
  beforeEach(() => {
    clock = new ManualClock();
    requests = new ClientRequests({ clock, ids: new SeededIds() });
    sent = [];
  });

  const ask = (
    credentialId: string,
    call = new TestedCall(),
    send: () => Promise<void> = () => Promise.resolve(),
    accountId = `account of ${credentialId}`,
  ) =>
    requests.ask({
      method: 'elicitation/create',
      asked: { credentialId, accountId },
      call,
      send: ({ id }) => {
        sent.push(String(id));
        return send();
      },
    });

  it('are answered by the one who was asked alone, once', async () => {
    const asked = ask('ada');
    requests.take('eve', { id: sent[0] ?? '', result: 'of eve' });
    requests.take('ada', { id: 'another', result: 'of ada' });
    requests.take('ada', { id: sent[0] ?? '', result: 'of ada' });
    requests.take('ada', { id: sent[0] ?? '', result: 'again' });
    expect(await asked).to.equal('of ada');
  });

  it('have no answer after an error, after their time, after their call, and where they cannot be sent', async () => {
    const call = new TestedCall();
    const [failed, late, left] = [ask('ada'), ask('bob'), ask('eve', call)];
    requests.take('ada', { id: sent[0] ?? '' });
    call.end();
    await clock.advance(ANSWER_WITHIN_MS);
    const unsent = await ask('ada', new TestedCall(), () => Promise.reject(new Error('gone')));
    expect([await failed, await late, await left, unsent]).to.deep.equal([undefined, undefined, undefined, undefined]);
    expect(call.listeners).to.equal(0);
  });

  it('are at most eight for a credential, independent of others', async () => {
    const calls = Array.from({ length: 8 }, () => new TestedCall());
    const open = calls.map((call) => ask('ada', call));
    expect(await codeOf(ask('ada'))).to.equal('RATE_LIMITED');
    expect(sent).to.have.length(8);
    const other = ask('bob');
    requests.take('bob', { id: sent[8] ?? '', result: 'of bob' });
    expect(await other).to.equal('of bob');
    for (const call of calls) call.end();
    await Promise.all(open);
  });

  it('are at most a hundred for an account, however many credentials it has, independent of others', async () => {
    const calls = Array.from({ length: 100 }, () => new TestedCall());
    const open = calls.map((call, index) => ask(`key ${index}`, call, undefined, 'one account'));
    expect(await codeOf(ask('another key', new TestedCall(), undefined, 'one account'))).to.equal('RATE_LIMITED');
    const other = ask('bob');
    requests.take('bob', { id: sent[100] ?? '', result: 'of bob' });
    expect(await other).to.equal('of bob');
    for (const call of calls) call.end();
    await Promise.all(open);
  });

  it('are not sent for a call that is over, and take no place', async () => {
    for (let calls = 0; calls < 20; calls += 1) {
      const call = new TestedCall();
      call.end();
      expect(await ask('ada', call)).to.equal(undefined);
    }
    expect(sent).to.deep.equal([]);
  });
});
