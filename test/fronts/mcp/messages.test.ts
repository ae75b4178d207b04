import { expect } from 'chai';
import { request } from 'node:http';
import { ANSWER_WITHIN_MS, ClientRequests } from '../../../apps/http/mcp/elicitation.js';
import { MAX_MESSAGE_BYTES } from '../../../apps/http/mcp/mcp-front.js';
import { CREDENTIAL_CACHE_MS } from '../../../core/access/authenticate.js';
import { revokeKey } from '../../../core/access/manage.js';
import type { JsonObject } from '../../../core/json.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { codeOf, SeededIds } from '../../fixtures/memory-stores.js';
import { asText, McpHarness, modernMessage, picture } from './mcp-harness.js';

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
      expect([response.status, response.headers.get('allow')], method).to.deep.equal([405, 'OPTIONS, POST']);
    }
  });

  it('gets 202 with neither a body nor its type where there is nothing to answer', async () => {
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 77, result: {} },
      { jsonrpc: '2.0', id: 'x', error: { code: -1, message: 'no' } },
    ]) {
      const response = await mcp.post(message, headers);
      expect(response.status).to.equal(202);
      expect(await response.text()).to.equal('');
      expect(response.headers.get('content-type')).to.equal(null);
      expect(response.headers.get('content-length')).to.equal('0');
      expect(response.headers.get('transfer-encoding')).to.equal(null);
    }
  });

  it('may be sent to the address with a slash at its end', async () => {
    const response = await fetch(`${mcp.url}/`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'Accept': '*/*' },
      body: JSON.stringify(PING),
    });
    expect(response.status).to.equal(200);
    expect(await response.text()).to.include('"result":{}');
    expect((await fetch(`${mcp.url}/`, { method: 'POST' })).status).to.equal(401);
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
 * Goal: a response has a type that the client takes, whatever the library would select, and only a client that takes
 * neither type is refused.
 * Method: the same messages of both eras with Accept as clients send it, written to the socket as it is.
 */

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';

describe('Accept of a message to the MCP server', () => {
  let mcp: McpHarness;
  let authorization: string;
  before(async () => {
    mcp = await McpHarness.open({ mcp: { confirmAboveCredits: 0 } });
    authorization = `Bearer ${await mcp.key()}`;
  });
  after(() => mcp.close());

  /** Sends no Accept at all where it is undefined, which `fetch` cannot. */
  const post = (body: JsonObject, accept: string | undefined, more: Readonly<Record<string, string>> = {}) =>
    new Promise<{ readonly status: number; readonly type: string; readonly text: string }>((resolve, reject) => {
      const sent = request(mcp.url, {
        method: 'POST',
        headers: { authorization, 'content-type': JSON_TYPE, ...more, ...(accept === undefined ? {} : { accept }) },
      });
      sent.on('error', reject).on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text }),
        );
      });
      sent.end(JSON.stringify(body));
    });
  const modern = modernMessage('tools/list');
  const LISTS = [
    ['2026-07-28', modern.body, modern.headers],
    ['2025-11-25', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-protocol-version': '2025-11-25' }],
  ] as const;

  for (const accept of [
    undefined,
    '',
    '*/*',
    `${JSON_TYPE}, ${STREAM_TYPE}`,
    `${STREAM_TYPE};q=0.1, ${JSON_TYPE};q=0.2`,
    'application/*;q=0.5, text/*',
    'Text/Event-Stream, APPLICATION/JSON;charset=utf-8',
  ])
    it(`takes both types with ${accept ?? 'no header'}`, async () => {
      for (const [revision, body, headers] of LISTS) {
        const { status, text } = await post(body, accept, headers);
        expect([status, text.includes('"tools"')], revision).to.deep.equal([200, true]);
      }
    });

  for (const accept of [
    JSON_TYPE,
    `${JSON_TYPE}; charset=utf-8`,
    `${STREAM_TYPE};q=0, */*`,
    `${JSON_TYPE}, ${STREAM_TYPE}; q=0.000`,
    'application/*',
  ])
    it(`takes JSON alone with ${accept}`, async () => {
      for (const [revision, body, headers] of LISTS) {
        const { status, type, text } = await post(body, accept, headers);
        expect([status, type], revision).to.deep.equal([200, JSON_TYPE]);
        expect(JSON.parse(text)).to.have.nested.property('result.tools').with.length(9);
      }
    });

  for (const accept of [STREAM_TYPE, `${JSON_TYPE};q=0, */*;q=0.1`, 'text/*', `text/html, ${STREAM_TYPE};q=0.5`])
    it(`takes a stream alone with ${accept}`, async () => {
      for (const [revision, body, headers] of LISTS) {
        const { status, type, text } = await post(body, accept, headers);
        expect([status, type], revision).to.deep.equal([200, STREAM_TYPE]);
        const [, data = '{}'] = /^data: (.*)\n\n/m.exec(text) ?? [];
        expect(JSON.parse(data)).to.have.nested.property('result.tools').with.length(9);
      }
    });

  for (const accept of ['text/html', `${JSON_TYPE};q=0, ${STREAM_TYPE};q=0`, '*/*;q=0', 'image/*'])
    it(`takes neither with ${accept}, which is refused before the message is read`, async () => {
      for (const [revision, body, headers] of LISTS) {
        const { status, type, text } = await post(body, accept, headers);
        expect([status, type], revision).to.deep.equal([406, JSON_TYPE]);
        expect(JSON.parse(text)).to.deep.include({ jsonrpc: '2.0', id: null });
      }
    });

  it('is not looked at where there is nothing to answer', async () => {
    const { status } = await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, JSON_TYPE);
    expect(status).to.equal(202);
  });

  it('is not looked at before the credential', async () => {
    expect((await post(LISTS[1][1], 'text/html', { authorization: 'Bearer x' })).status).to.equal(401);
  });

  it('leaves nothing to listen to without a stream', async () => {
    const { body, headers } = modernMessage('subscriptions/listen', { notifications: {} });
    expect((await post(body, JSON_TYPE, headers)).status).to.equal(406);
  });

  it('leaves nobody to ask without a stream in the revisions of 2025', async () => {
    const session = { 'mcp-session-id': 'asks-1', 'mcp-protocol-version': '2025-11-25' };
    const params = { name: 'generate_image', arguments: picture('unasked'), _meta: { progressToken: 1 } };
    const { text } = await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, JSON_TYPE, session);
    expect(text).to.include('SPENDING_NOT_CONFIRMED').and.to.include('cannot ask');
  });

  it('leaves out progress, and only that, where JSON alone is taken', async () => {
    const capped = await mcp.key(undefined, { monthlyCap: 100 });
    for (const [accept, isTold] of [
      [JSON_TYPE, false],
      [STREAM_TYPE, true],
    ] as const) {
      const params = { name: 'generate_image', arguments: picture(`of-${accept}`, { wait_seconds: 1 }) };
      const message = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { ...params, _meta: { progressToken: 1 } },
      };
      const { text } = await post(message, accept, { authorization: `Bearer ${capped}` });
      expect(text, accept).to.include('"structuredContent"');
      expect(text.includes('notifications/progress')).to.equal(isTold);
    }
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
