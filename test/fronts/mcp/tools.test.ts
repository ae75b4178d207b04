import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { JsonObject } from '../../../core/json.js';
import { image } from '../../fixtures/images.js';
import { sha256Of } from '../../fixtures/sha256.js';
import {
  asText,
  codeOf,
  MCP,
  McpHarness,
  modernMessage,
  picture,
  REVISIONS,
  type TestClient,
  textOf,
  type ToolAnswer,
} from './mcp-harness.js';
import { keptLog } from '../../harness/kept-log.js';

/*
 * Goal: the tools are what their list says, answer the data of REST exactly, and refuse in the words of REST.
 * Method: the list checked with a strict validator; each tool called by clients of both eras and compared with REST, its
 * structured content with its own output schema.
 */

const UUID = '0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60';
const REQUEST: JsonObject = { model_key: 'picture', prompt: 'x', parameters: { size: '96x64', n: 2 } };

describe('the list of MCP tools', () => {
  let mcp: McpHarness;
  let tools: readonly JsonObject[];
  before(async () => {
    mcp = await McpHarness.open();
    tools = await (await mcp.connect('2026-07-28', await mcp.key())).tools();
  });
  after(() => mcp.close());

  it('is the same for both eras, in one order, and short', async () => {
    const old = await (await mcp.connect('2025-11-25', await mcp.key())).tools();
    expect(old).to.deep.equal(tools);
    expect(tools.map(({ name }) => name)).to.deep.equal([
      'list_models',
      'get_credits',
      'estimate_generation',
      'generate_image',
      'generate_video',
      'get_generation',
      'cancel_generation',
      'prepare_upload',
      'complete_upload',
    ]);
    expect(JSON.stringify(tools).length).to.be.below(24_000);
  });

  it('has words, annotations and closed schemas for each', () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, formats: { 'uuid': true, 'date-time': true } });
    for (const { name, title, description, annotations, inputSchema, outputSchema } of tools) {
      const where = asText(name);
      expect([typeof title, typeof description], where).to.deep.equal(['string', 'string']);
      expect(annotations, where).to.include.keys('readOnlyHint', 'openWorldHint', 'idempotentHint');
      expect(inputSchema, where).to.include({ type: 'object', additionalProperties: false });
      for (const schema of [inputSchema, outputSchema] as JsonObject[]) {
        expect(schema['$schema'], where).to.equal('https://json-schema.org/draft/2020-12/schema');
        ajv.compile(schema);
      }
    }
  });

  it('says which tools only read', () => {
    const reading = tools.filter(({ annotations }) => (annotations as JsonObject)['readOnlyHint'] === true);
    expect(reading.map(({ name }) => name)).to.deep.equal([
      'list_models',
      'get_credits',
      'estimate_generation',
      'get_generation',
    ]);
  });
});

for (const revision of REVISIONS)
  describe(`the MCP tools in ${revision}`, () => {
    let mcp: McpHarness;
    let secret: string;
    let client: TestClient;
    let keys = 0;
    const validators = new Map<string, (data: unknown) => boolean>();
    before(async () => {
      mcp = await McpHarness.open();
      secret = await mcp.key();
      client = await mcp.connect(revision, secret);
      const ajv = new Ajv2020({ strict: false, formats: { 'uuid': true, 'date-time': true } });
      for (const { name, outputSchema } of await client.tools())
        validators.set(asText(name), ajv.compile(outputSchema as JsonObject));
    });
    after(() => mcp.close());

    const key = (): string => {
      keys += 1;
      return `key-${keys}`;
    };
    /** The structured content, once it is what the tool promised. */
    const data = async (name: string, args: JsonObject = {}): Promise<JsonObject> => {
      const answer: ToolAnswer = await client.call(name, args);
      expect(codeOf(answer), textOf(answer)).to.equal('OK');
      expect(validators.get(name)?.(answer.structuredContent), name).to.equal(true);
      return answer.structuredContent as JsonObject;
    };
    const rest = async (method: string, path: string, body?: JsonObject, idempotencyKey?: string) =>
      (await mcp.rest(secret, method, path, body, idempotencyKey))['data'];

    it('answer the catalog, the balance and an estimate as REST does, as text too', async () => {
      expect(await data('list_models')).to.deep.equal(await rest('GET', '/models'));
      expect(await data('get_credits')).to.deep.equal(await rest('GET', '/credits'));
      const body = { ...REQUEST, operation: 'image_generation' };
      const estimate = await client.call('estimate_generation', body);
      expect(estimate.structuredContent).to.deep.equal(await rest('POST', '/generations/estimate', body));
      expect(JSON.parse(textOf(estimate))).to.deep.equal(estimate.structuredContent);
    });

    it('generate, show and cancel the task of REST', async () => {
      const created = await data('generate_image', picture(key()));
      expect(created['status']).to.equal('queued');
      const path = `/generations/${asText(created['generation_id'])}`;
      expect(created).to.deep.equal(await rest('GET', path));
      const shown = await data('get_generation', { generation_id: asText(created['generation_id']), wait_seconds: 0 });
      expect(shown).to.deep.equal(created);
      const cancelled = await data('cancel_generation', { generation_id: asText(created['generation_id']) });
      expect(cancelled).to.deep.equal(await rest('GET', path));
      expect(cancelled['status']).to.equal('cancelled');
    });

    it('make videos with the other tool only', async () => {
      const video = { model_key: 'clip', prompt: 'x', parameters: { duration_seconds: 1 }, wait_seconds: 0 };
      expect(await data('generate_video', { ...video, idempotency_key: key() })).to.include({
        operation: 'video_generation',
      });
      expect(codeOf(await client.call('generate_image', { ...video, idempotency_key: key() }))).to.equal(
        'FIELD_INVALID',
      );
    });

    it('prepare an upload with a command that has all signed headers, and complete it', async () => {
      const bytes = await image('png');
      const args = {
        filename: "it's mine.png",
        media_type: 'image/png',
        byte_size: bytes.byteLength,
        sha256: sha256Of(bytes),
        role: 'reference_image',
        idempotency_key: key(),
      };
      const answer = await client.call('prepare_upload', args);
      const prepared = answer.structuredContent as JsonObject;
      const { idempotency_key: sameKey, ...body } = args;
      const again = (await rest('POST', '/uploads', body, sameKey)) as JsonObject;
      expect({ ...prepared, upload_url: '' }).to.deep.equal({ ...again, upload_url: '' });
      const command = textOf(answer);
      expect(command).to.match(/^curl --fail --request PUT /);
      for (const [name, value] of Object.entries(prepared['required_headers'] as Record<string, string>))
        expect(command).to.include(`--header '${name}: ${value}'`);
      expect(command).to.include("--data-binary '@./it'\\''s mine.png'");
      expect(command).to.include(`'${asText(prepared['upload_url'])}'`);
      const id = asText(prepared['upload_id']);
      expect(codeOf(await client.call('complete_upload', { upload_id: id, idempotency_key: key() }))).to.equal(
        'FIELD_INVALID',
      );
      const record = await mcp.service.context.uploads.read(id);
      if (record?.kind !== 'upload') throw new Error('There is no upload.');
      await mcp.service.objects.write(record.stagingKey, inOnePiece(bytes), { mediaType: 'image/png', maxBytes: 1e6 });
      const completed = await data('complete_upload', { upload_id: id, idempotency_key: 'complete' });
      expect(completed).to.deep.equal(await rest('POST', `/uploads/${id}/complete`, undefined, 'complete'));
    });

    const REFUSED: readonly (readonly [what: string, tool: string, args: JsonObject, code: string])[] = [
      ['no idempotency key', 'generate_image', { model_key: 'picture', prompt: 'x' }, 'IDEMPOTENCY_KEY_REQUIRED'],
      ['a key with spaces', 'generate_image', picture('a b'), 'IDEMPOTENCY_KEY_INVALID'],
      ['a missing field', 'generate_image', { idempotency_key: 'k' }, 'FIELD_REQUIRED'],
      ['an unknown field', 'generate_image', picture('k', { size: '96x64' }), 'FIELD_INVALID'],
      ['an unknown model', 'generate_image', picture('k', { model_key: 'nothing' }), 'FIELD_INVALID'],
      ['a wait that is too long', 'generate_image', picture('k', { wait_seconds: 51 }), 'FIELD_INVALID'],
      ['an argument where none is taken', 'get_credits', { x: 1 }, 'FIELD_INVALID'],
      ['an unknown generation', 'get_generation', { generation_id: UUID }, 'TASK_NOT_FOUND'],
      ['what is no id', 'cancel_generation', { generation_id: UUID.slice(1) }, 'FIELD_INVALID'],
      ['an unknown upload', 'complete_upload', { upload_id: UUID, idempotency_key: 'k' }, 'FIELD_INVALID'],
    ];
    for (const [what, tool, args, code] of REFUSED)
      it(`refuse ${what} with ${code}`, async () => {
        const answer = await client.call(tool, args);
        expect(codeOf(answer)).to.equal(code);
        expect(answer.structuredContent).to.equal(undefined);
        expect(answer._meta?.['darkroom/error']).to.include({ code, retryable: false });
      });

    it('refuse what costs too much with the sentence of REST', async () => {
      const poor = await McpHarness.open({ mcp: { confirmAboveCredits: 10_000 } });
      try {
        const credential = await poor.key();
        const args = picture('k', { parameters: { size: '96x64', n: 4 } });
        for (let spent = 0; spent < 25; spent += 1)
          await poor.rest(
            credential,
            'POST',
            '/generations',
            { ...REQUEST, operation: 'image_generation', parameters: { size: '96x64', n: 4 } },
            `k${spent}`,
          );
        const answer = await (await poor.connect(revision, credential)).call('generate_image', args);
        expect(textOf(answer)).to.equal(
          'CREDITS_INSUFFICIENT: This would reserve 40 credits; the account has 0 available.',
        );
      } finally {
        await poor.close();
      }
    });

    it('tell where a parameter belongs', async () => {
      expect(textOf(await client.call('generate_image', picture('k', { size: '96x64' })))).to.equal(
        'FIELD_INVALID: size is not a field; it is a parameter of picture: send it in parameters.',
      );
    });

    it("know nothing of other owners' generations", async () => {
      const { generation_id: id } = await data('generate_image', picture(key()));
      const stranger = await mcp.connect(revision, await mcp.token('mcp'));
      for (const tool of ['get_generation', 'cancel_generation'])
        expect(codeOf(await stranger.call(tool, { generation_id: asText(id) })), tool).to.equal('TASK_NOT_FOUND');
    });

    it('answer a protocol error for a tool that there is not', async () => {
      const error = await client.call('delete_everything').catch((thrown: unknown) => thrown);
      expect(error).to.have.property('code', -32602);
    });
  });

describe('the log of the MCP server', () => {
  it('has a line for what was created and for what was refused, with the tool, and none for reads', async () => {
    const { lines, logger } = keptLog('info');
    const mcp = await McpHarness.open({ logger });
    try {
      const client = await mcp.connect('2026-07-28', await mcp.key());
      await client.call('get_credits');
      const created = await client.call('generate_image', picture('logged'));
      await client.call('generate_image', picture('logged', { prompt: 'something else' }));
      await client.call('get_generation', { generation_id: UUID });
      await client.call('get_generation', { generation_id: 'x' });
      const generationId = created.structuredContent?.['generation_id'];
      const route = MCP;
      expect(
        lines.map(({ msg, route: at, tool, status, code, field, generationId: id }) =>
          JSON.parse(JSON.stringify({ msg, route: at, tool, status, code, field, generationId: id })),
        ),
      ).to.deep.equal([
        { msg: 'request', route, tool: 'generate_image', status: 200, generationId },
        { msg: 'request', route, tool: 'generate_image', status: 200, code: 'IDEMPOTENCY_PAYLOAD_MISMATCH' },
        { msg: 'request', route, tool: 'get_generation', status: 200, code: 'TASK_NOT_FOUND', generationId: UUID },
        { msg: 'request', route, tool: 'get_generation', status: 200, code: 'FIELD_INVALID', field: '/generation_id' },
      ]);
    } finally {
      await mcp.close();
    }
  });
});

describe('an unexpected failure of a tool', () => {
  it('is one plain sentence for the client, and whole in the log', async () => {
    const { lines, logger } = keptLog('info');
    const mcp = await McpHarness.open(
      { logger },
      {
        around: (ports) => ({
          ...ports,
          catalog: {
            ...ports.catalog,
            models: () => {
              throw new Error('secret of the house');
            },
          },
        }),
      },
    );
    try {
      const client = await mcp.connect('2026-07-28', await mcp.key());
      const answer = await client.call('list_models');
      expect(textOf(answer)).to.equal('INTERNAL_ERROR: Something went wrong on our side.');
      expect(JSON.stringify(answer)).not.to.include('secret of the house');
      expect(JSON.stringify(lines.filter(({ msg }) => msg === 'request failed'))).to.include('secret of the house');
    } finally {
      await mcp.close();
    }
  });
});

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/*
 * Goal: a client that named the tasks extension gets a handle in place of a wait and the same result later, its own
 * alone; any other client never sees one.
 * Method: messages of the newest revision over the wire to a whole service in this process.
 */

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

  it('does not find a task of another owner, of an unknown id or of a malformed id', async () => {
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
