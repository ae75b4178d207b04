/*
 * Goal: a client that named the tasks extension gets a handle in place of a wait and the same result later, its own
 * alone; any other client never sees one.
 * Method: messages of the newest revision over the wire to a whole service in this process.
 */
import { expect } from 'chai';
import type { JsonObject } from '../../../core/json.js';
import { asText, McpHarness, modernMessage, picture } from './mcp-harness.js';

const NAMED: JsonObject = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const UNKNOWN = '0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60';

describe('the tasks extension of the MCP server', () => {
  let mcp: McpHarness;
  let secret: string;
  before(async () => {
    mcp = await McpHarness.open({ mcp: { confirmAboveCredits: 15 } });
    secret = await mcp.key();
  });
  after(() => mcp.close());

  const send = async (
    method: string,
    params: JsonObject,
    {
      capabilities = NAMED,
      credential = secret,
    }: { readonly capabilities?: JsonObject; readonly credential?: string } = {},
  ): Promise<{ readonly status: number; readonly result: JsonObject; readonly error: JsonObject }> => {
    const { body, headers } = modernMessage(method, params, capabilities);
    const name = asText(params['taskId'] ?? params['name']);
    const response = await mcp.post(body, { ...headers, 'Authorization': `Bearer ${credential}`, 'Mcp-Name': name });
    const { result = {}, error = {} } = (await response.json()) as { result?: JsonObject; error?: JsonObject };
    return { status: response.status, result, error };
  };
  const generate = (args: JsonObject, capabilities?: JsonObject) =>
    send('tools/call', { name: 'generate_image', arguments: args }, capabilities === undefined ? {} : { capabilities });
  const newTask = async (key: string): Promise<string> => asText((await generate(picture(key))).result['taskId']);

  it('is named by the server, and in the revisions of 2025 is not', async () => {
    const { result } = await send('server/discover', {});
    expect(result['capabilities']).to.deep.include({ extensions: { 'io.modelcontextprotocol/tasks': {} } });
    const old = await mcp.post(
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: NAMED, clientInfo: { name: 'test', version: '1' } },
      },
      { Authorization: `Bearer ${secret}` },
    );
    expect(await old.text()).not.to.include('extensions');
  });

  it('answers a handle at once, whose id is that of the generation', async () => {
    const { result } = await generate(picture('handle', { wait_seconds: 50 }));
    // The library adds an empty content, as to every result of a tool.
    const { taskId, createdAt, lastUpdatedAt, _meta: _identity, content: _empty, ...rest } = result;
    expect(rest).to.deep.equal({
      resultType: 'task',
      status: 'working',
      statusMessage: 'The generation waits for its turn.',
      ttlMs: mcp.service.context.settings.taskRetentionMs,
      pollIntervalMs: 2_000,
    });
    const record = await mcp.service.context.generations.read(asText(taskId));
    expect(record?.kind).to.equal('generation');
    expect([createdAt, lastUpdatedAt]).to.satisfy((times: unknown[]) =>
      times.every((time) => Date.parse(asText(time)) > 0),
    );
  });

  it('gives a client that did not name it the result, and refuses it the methods', async () => {
    const { result } = await generate(picture('no-handle'), {});
    expect(result).to.include({ resultType: 'complete' });
    expect(result['structuredContent']).to.include({ status: 'queued' });
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { error } = await send(method, { taskId: UNKNOWN, inputResponses: {} }, { capabilities: {} });
      expect(error['code'], method).to.equal(-32021);
      expect(error['data'], method).to.deep.equal({ requiredCapabilities: NAMED });
    }
  });

  it('knows no task of another owner, of an unknown id and of what is no id', async () => {
    const own = await newTask('own');
    const credential = await mcp.token('mcp');
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const answers = [
        await send(method, { taskId: own, inputResponses: {} }, { credential }),
        await send(method, { taskId: UNKNOWN, inputResponses: {} }),
        await send(method, { taskId: 'x', inputResponses: {} }),
      ];
      for (const { error } of answers) {
        expect(error['code'], method).to.equal(-32602);
        expect(error['message'], method).to.equal('TASK_NOT_FOUND: There is no such generation.');
      }
    }
    expect((await send('tasks/get', { taskId: own })).result['status']).to.equal('working');
  });

  it('needs the scopes of the tools', async () => {
    const credential = await mcp.key(['credits:read']);
    expect((await send('tasks/get', { taskId: UNKNOWN }, { credential })).status).to.equal(403);
    expect((await send('tasks/cancel', { taskId: UNKNOWN }, { credential })).status).to.equal(403);
  });

  it('cancels, and says so', async () => {
    const taskId = await newTask('cancelled');
    const acknowledged = await send('tasks/cancel', { taskId });
    expect(acknowledged.result).to.include({ resultType: 'complete' });
    expect((await send('tasks/get', { taskId })).result).to.include({ status: 'cancelled', resultType: 'complete' });
  });

  it('takes input that nothing waits for, and does nothing', async () => {
    const taskId = await newTask('updated');
    const { result } = await send('tasks/update', { taskId, inputResponses: { x: { action: 'accept' } } });
    expect(result).to.include({ resultType: 'complete' });
    expect((await send('tasks/get', { taskId })).result['status']).to.equal('working');
  });

  it('asks a person before there is a task', async () => {
    const dear = picture('dear', { parameters: { size: '96x64', n: 2 } });
    const { result } = await generate(dear, { ...NAMED, elicitation: { form: {} } });
    expect(result['resultType']).to.equal('input_required');
    const refused = await generate(dear);
    expect(refused.result).to.include({ isError: true });
  });

  it('has the result of the tool once the generation has ended', async () => {
    await mcp.service.startWorker();
    const failing = picture('failed', { model_key: 'picture-refused' });
    const ended = async (args: JsonObject): Promise<JsonObject> => {
      const first = await generate(args);
      const taskId = asText(
        first.result['taskId'] ?? (first.result['structuredContent'] as JsonObject)['generation_id'],
      );
      for (;;) {
        const { result } = await send('tasks/get', { taskId });
        if (result['status'] !== 'working') return result;
        await new Promise(setImmediate);
      }
    };
    const done = await ended(picture('done'));
    expect(done).to.include({ status: 'completed', statusMessage: 'The generation succeeded.' });
    const inside = done['result'] as unknown as {
      readonly content: readonly JsonObject[];
      readonly structuredContent: JsonObject;
    };
    expect(inside.content.map(({ type }) => type)).to.deep.equal(['text', 'image', 'resource_link']);
    expect(inside.structuredContent).to.include({ status: 'succeeded', generation_id: done['taskId'] });
    const failed = await ended(failing);
    expect(failed).to.include({ status: 'completed' });
    expect((failed['result'] as JsonObject)['structuredContent']).to.include({ status: 'failed' });
    const again = await generate(picture('done'));
    expect(again.result).to.include({ resultType: 'complete' });
  });
});
