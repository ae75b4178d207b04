// Goal: no body of 256 KiB takes more than sixteen times the processor time of a plain create, over REST and over gRPC.
// Method: a search over shapes of bodies on servers in memory, the client in the same process. The result is the ratio
// of the medians of processor times, measured in turn, never a time; a body that seems too expensive is measured again,
// with twice the samples each time, and its smallest ratio decides, since a busy machine only adds. WORST_BODY_RUNS
// sets how many bodies are tried. The most expensive one is printed.
import { create, toBinary } from '@bufbuild/protobuf';
import type { Client } from '@grpc/grpc-js';
import { expect } from 'chai';
import fc from 'fast-check';
import { Agent, request as httpRequest } from 'node:http';
import {
  CreateGenerationRequestSchema,
  GenerationInputSchema,
  Generations,
} from '../../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operation } from '../../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import { methodDefinition } from '../../../../apps/grpc/definitions.js';
import { MAX_BODY_BYTES, MAX_BODY_NODES, MAX_BODY_PIECES } from '../../../../apps/http/host/http-context.js';
import type { Model } from '../../../../core/catalog/model.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { catalogOf, MODELS } from '../../../fixtures/models.js';
import { createRequestFixture } from '../../../harness/request-fixture.js';
import { sizeOf } from '../../../harness/run-sizes.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { GrpcHarness } from '../../grpc/grpc-harness.js';
import { exchange } from './raw-socket.js';
import { BASE, type RunningServer, serve } from './rest-client.js';

const RUNS = Number(process.env['WORST_BODY_RUNS'] ?? sizeOf('dearestBodies'));
/** A body of the greatest size counts as 17 requests of its credential's rate, so that none costs more than it counts. */
const MOST = 16;

/** `picture`, with parameters that accept free text, lists and free names. */
const [PICTURE] = MODELS as [Model];
const OPEN: Model = {
  ...PICTURE,
  modelKey: 'open',
  inputSchema: {
    ...PICTURE.inputSchema,
    properties: {
      ...(PICTURE.inputSchema['properties'] as JsonObject),
      text: { type: 'string', maxLength: 8_000 },
      list: { type: 'array', maxItems: 5_000, items: { type: 'string', maxLength: 200 } },
      rows: {
        type: 'array',
        items: { type: 'object', additionalProperties: false, required: ['a'], properties: { a: { type: 'integer' } } },
      },
      unique: {
        type: 'array',
        uniqueItems: true,
        items: {
          anyOf: [
            { type: ['array', 'integer', 'null'] },
            { type: 'string', maxLength: 8_000 },
            { type: 'object', additionalProperties: { type: 'integer' } },
          ],
        },
      },
      free: { type: 'object', patternProperties: { '^k': { type: 'integer' } }, additionalProperties: false },
    },
  },
};

/** A random choice of the search: the repeated content, its count and its place. */
interface Recipe {
  readonly place:
    | 'size'
    | 'text'
    | 'list'
    | 'unique'
    | 'rows'
    | 'free'
    | 'parameters'
    | 'fields'
    | 'references'
    | 'prompt'
    | 'client_trace_id'
    | 'blanks';
  readonly item: 'number' | 'text' | 'empty list' | 'empty object' | 'object' | 'nest' | 'null';
  readonly piece: string;
  readonly count: number;
  readonly depth: number;
}

const RECIPES: fc.Arbitrary<Recipe> = fc.record({
  place: fc.constantFrom(
    'size',
    'text',
    'list',
    'unique',
    'rows',
    'free',
    'parameters',
    'fields',
    'references',
    'prompt',
    'client_trace_id',
    'blanks',
  ),
  item: fc.constantFrom('number', 'text', 'empty list', 'empty object', 'object', 'nest', 'null'),
  piece: fc.constantFrom(
    'x',
    '/',
    '~/',
    'a.',
    'a/',
    '.',
    ':',
    '::',
    '@a.',
    '[:',
    '%',
    '%41',
    '\n',
    ' ',
    '\u{1d49f}',
    '\ufdfa',
    '\\u0061',
    '0.',
    'a-',
    '\\n',
  ),
  count: fc.oneof(
    fc.constantFrom(1, 20, 300, 900, MAX_BODY_NODES / 2 - 20, MAX_BODY_NODES - 20, 60_000),
    fc.integer({ min: 1, max: MAX_BODY_NODES }),
  ),
  depth: fc.integer({ min: 1, max: 28 }),
});

const HEAD = '"model_key":"open","operation":"image_generation"';

/** JSON text of 256 KiB at most, as close to it as the recipe allows. */
function bodyOf({ place, item, piece, count, depth }: Recipe): string {
  const room = MAX_BODY_BYTES - 300;
  const share = Math.max(8, Math.floor(room / count)) - 8;
  const text = (bytes: number): string =>
    (piece === '\n' ? '\\n' : piece).repeat(
      Math.max(0, Math.floor(bytes / Buffer.byteLength(piece === '\n' ? '\\n' : piece))),
    );
  const one = (): string => {
    if (item === 'number') return `0.1${'1'.repeat(share)}`;
    if (item === 'text') return `"${text(share)}"`;
    if (item === 'null') return `null${' '.repeat(Math.max(0, share - 4))}`;
    if (item === 'nest') return '['.repeat(depth) + ' '.repeat(Math.max(0, share - 2 * depth)) + ']'.repeat(depth);
    if (item === 'object') return `{"${text(share - 4)}":1}`;
    return item === 'empty list' ? '[]' : '{}';
  };
  const different = (index: number): string => {
    if (item === 'object') return `{"k":${index}}`;
    return item === 'text' ? `"${text(share - 6)}${index}"` : `[${index}]`;
  };
  const items = `[${repeat(() => one(), count, room)}]`;
  const members = repeat(
    (index) => `"k${index.toString(36)}${text(share - 6)}":${item === 'nest' ? '[]' : '1'}`,
    count,
    room,
  );
  switch (place) {
    case 'parameters':
      return `{${HEAD},"prompt":"x","parameters":{"size":"96x64",${members}}}`;
    case 'fields':
      return `{${HEAD},"prompt":"x",${members}}`;
    case 'free':
      return `{${HEAD},"prompt":"x","parameters":{"size":"96x64","free":{${members}}}}`;
    case 'references':
      return `{${HEAD},"prompt":"x","parameters":{"size":"96x64"},"reference_upload_ids":${items}}`;
    case 'prompt':
      return `{${HEAD},"prompt":"${text(room)}","parameters":{"size":"96x64"}}`;
    case 'client_trace_id':
      return `{${HEAD},"prompt":"x","parameters":{"size":"96x64"},"client_trace_id":"${text(room)}"}`;
    case 'blanks':
      return `{${HEAD},"prompt":"x",${(piece === '\n' ? '\n' : ' ').repeat(room)}"parameters":{"size":"96x64"}}`;
    case 'text':
      return `{${HEAD},"prompt":"x","parameters":{"size":"96x64","text":"${text(8_000)}"}}`;
    case 'list':
    case 'rows':
      return `{${HEAD},"prompt":"x","parameters":{"size":"96x64","${place}":${items}}}`;
    case 'unique':
      return `{${HEAD},"prompt":"x","parameters":{"size":"96x64","unique":[${repeat((index) => different(index), count, room)}]}}`;
    case 'size':
      return `{${HEAD},"prompt":"x","parameters":{"size":${items}}}`;
  }
}

function repeat(make: (index: number) => string, count: number, room: number): string {
  const parts: string[] = [];
  for (let index = 0, bytes = 0; index < count; index += 1) {
    const part = make(index);
    bytes += Buffer.byteLength(part) + 1;
    if (bytes > room) break;
    parts.push(part);
  }
  return parts.join(',');
}

type Send = (body: string, key: string) => Promise<string>;

type Ask = () => Promise<string>;

async function costOf(ask: Ask): Promise<number> {
  const before = process.cpuUsage();
  await ask();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** The median cost of one divided by that of the other, each sent equally often, in turn. */
async function ratioOf(ask: Ask, control: Ask, times: number): Promise<number> {
  const costs: number[] = [];
  const controls: number[] = [];
  for (let time = 0; time < times; time += 1) {
    costs.push(await costOf(ask));
    controls.push(await costOf(control));
  }
  return median(costs) / median(controls);
}

/** The ratio, measured until it is no more than `most`, or often enough to be trusted. */
async function leastRatio(ask: Ask, control: Ask, most: number): Promise<number> {
  let least = Infinity;
  for (let times = 3; least > most && times < 200; times *= 2)
    least = Math.min(least, await ratioOf(ask, control, times));
  return least;
}

/** Checks the bound over one front. Prints the most expensive body. */
async function search(front: string, send: Send, plain: string): Promise<void> {
  let key = 0;
  const ask =
    (body: string): Ask =>
    () =>
      send(body, `k${(key += 1)}`);
  expect(await ask(plain)(), 'a plain create').to.equal('OK');
  for (let time = 0; time < 300; time += 1) await ask(plain)();
  let worst = { ratio: 0, recipe: '', code: '' };
  await fc.assert(
    fc.asyncProperty(RECIPES, async (recipe) => {
      const body = bodyOf(recipe);
      expect(Buffer.byteLength(body)).to.be.at.most(MAX_BODY_BYTES);
      const code = await ask(body)();
      const ratio = await leastRatio(ask(body), ask(plain), MOST);
      if (ratio > worst.ratio) worst = { ratio, recipe: JSON.stringify(recipe), code };
      expect(ratio, 'times the processor time of a plain create').to.be.at.most(MOST);
    }),
    { numRuns: RUNS, endOnFailure: true, examples: KNOWN.map((recipe): [Recipe] => [recipe]) },
  );
  process.stdout.write(
    `      most of ${RUNS} over ${front}: ${worst.ratio.toFixed(1)} plain creates, ${worst.code}, ${worst.recipe}\n`,
  );
}

/** The attack that was seen, and bodies that are expensive by nature. */
const KNOWN: readonly Recipe[] = [
  { place: 'size', item: 'nest', piece: 'x', count: 60_000, depth: 28 },
  { place: 'size', item: 'nest', piece: 'x', count: 68, depth: 28 },
  { place: 'parameters', item: 'number', piece: '~/', count: MAX_BODY_NODES / 2 - 20, depth: 1 },
  { place: 'fields', item: 'number', piece: '~/', count: 1, depth: 1 },
  { place: 'fields', item: 'number', piece: 'x', count: 60_000, depth: 1 },
  { place: 'references', item: 'null', piece: 'x', count: MAX_BODY_NODES - 20, depth: 1 },
  { place: 'list', item: 'text', piece: '@a.', count: MAX_BODY_NODES - 20, depth: 1 },
  { place: 'text', item: 'text', piece: '\n', count: 1, depth: 1 },
  { place: 'unique', item: 'text', piece: 'x', count: MAX_BODY_NODES - 20, depth: 1 },
  { place: 'unique', item: 'object', piece: 'x', count: MAX_BODY_NODES - 20, depth: 1 },
];

describe('the most expensive body', () => {
  const ports = { catalog: catalogOf(() => [...MODELS, OPEN]) };
  const settings = { maxOpenGenerationsPerAccount: 1_000_000 };
  const PLAIN = `{${HEAD},"prompt":"a lighthouse","parameters":{"size":"96x64"}}`;
  let open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
    open = [];
  });

  async function enrich(harness: ServiceHarness, accountId: string): Promise<void> {
    await harness.context.accountWriter.execute(accountId, {
      kind: 'grant',
      operationId: 'much',
      credits: 1_000_000_000,
      reason: '',
    });
  }

  it('costs at most sixteen plain creates over REST', async () => {
    const harness = await openServiceHarness({ ports, settings });
    const fixture = await createRequestFixture(harness.context);
    await enrich(harness, fixture.owners.get('owner')?.accountId ?? '');
    const { server, port }: RunningServer = await serve(harness);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    open = [{ close: async () => agent.destroy() }, { close: () => server.close(100) }, harness];
    const credential = fixture.secrets.get('owner') as string;
    await search(
      'REST',
      (body, key) =>
        new Promise((resolve, reject) => {
          const headers = {
            'Authorization': `Bearer ${credential}`,
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(body),
            'Idempotency-Key': key,
          };
          const asked = httpRequest(
            { agent, host: '127.0.0.1', port, path: `${BASE}/generations`, method: 'POST', headers },
            (answer) => {
              let text = '';
              answer
                .setEncoding('utf8')
                .on('data', (part: string) => {
                  text += part;
                })
                .on('end', () => resolve((JSON.parse(text) as { code: string }).code))
                .on('error', reject);
            },
          );
          asked.on('error', reject).end(body);
        }),
      PLAIN,
    );
  });

  it('in chunks of one byte costs no more than its first chunks if unauthenticated', async () => {
    const harness = await openServiceHarness();
    const { server, port } = await serve(harness);
    open = [{ close: () => server.close(100) }, harness];
    const send = (chunks: number) => () =>
      exchange(
        port,
        `POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`,
      );
    for (let time = 0; time < 50; time += 1) await send(MAX_BODY_PIECES)();
    const ratio = await leastRatio(send(131_000), send(MAX_BODY_PIECES), 30);
    expect(ratio, `times the processor time of ${MAX_BODY_PIECES} chunks`).to.be.at.most(30);
  });

  it('costs at most sixteen plain creates over gRPC', async () => {
    const grpc = await GrpcHarness.open({ ports, settings });
    open = [grpc];
    await enrich(grpc.harness, grpc.owner.accountId);
    const { path, responseDeserialize } = methodDefinition(Generations.method.createGeneration);
    const encoded = new Map<string, Buffer>();
    const client: Client = grpc.client;
    await search(
      'gRPC',
      (body, key) => {
        let bytes = encoded.get(body);
        if (bytes === undefined) {
          // The body that is measured, and the plain one beside it.
          if (encoded.size >= 2) encoded.clear();
          encoded.set(body, (bytes = inputOf(body)));
        }
        const message = Buffer.concat([
          bytes,
          toBinary(CreateGenerationRequestSchema, create(CreateGenerationRequestSchema, { idempotencyKey: key })),
        ]);
        return new Promise((resolve) => {
          client.makeUnaryRequest(
            path,
            (sent: Buffer) => sent,
            responseDeserialize,
            message,
            grpc.as('all'),
            (error) => resolve(error === null ? 'OK' : error.details.slice(0, 60)),
          );
        });
      },
      PLAIN,
    );
  });

  /**
   * The same body as a message, cut to the largest size that a message may have. Members without a field in the message
   * become parameters.
   */
  function inputOf(body: string): Buffer {
    const {
      prompt,
      parameters,
      reference_upload_ids: references,
      client_trace_id: trace,
      model_key: modelKey,
      operation: _,
      ...others
    } = JSON.parse(body) as JsonObject;
    const ids = (references ?? []) as Json[];
    const make = (share: number): Uint8Array =>
      toBinary(
        CreateGenerationRequestSchema,
        create(CreateGenerationRequestSchema, {
          input: create(GenerationInputSchema, {
            modelKey: modelKey as string,
            operation: Operation.IMAGE_GENERATION,
            prompt: prompt as string,
            parameters: cut({ ...(parameters as JsonObject), ...others }, share),
            referenceUploadIds: ids
              .slice(0, Math.floor(ids.length * share))
              .map((id) => (typeof id === 'string' ? id : '')),
            ...(trace === undefined ? {} : { clientTraceId: trace as string }),
          }),
        }),
      );
    let bytes = make(1);
    for (let share = 0.9; bytes.byteLength > MAX_BODY_BYTES - 50 && share > 0.05; share -= 0.1) bytes = make(share);
    return Buffer.from(bytes);
  }

  /** The first part of each list and object in the parameters. */
  function cut(value: JsonObject, share: number): JsonObject {
    const part = (member: Json): Json =>
      Array.isArray(member) ? member.slice(0, Math.ceil(member.length * share)) : member;
    const members = Object.entries(value);
    const kept = members.length > 20 ? members.slice(0, Math.ceil(members.length * share)) : members;
    return Object.fromEntries(kept.map(([name, member]) => [name, part(member)]));
  }
});
