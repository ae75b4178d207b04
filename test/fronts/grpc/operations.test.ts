import { create, equals, fromBinary, type Message, toBinary, toJsonString } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { expect } from 'chai';
import fc from 'fast-check';
import { bytesFault } from '../../../apps/grpc/request-bytes.js';
import {
  type CreateGenerationRequest,
  CreateGenerationRequestSchema,
  Generations,
  GetGenerationResponseSchema,
  WatchGenerationResponseSchema,
} from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { PriceUnit } from '../../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import { Operations, SearchGenerationsRequestSchema } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { answerOf, keptBytes, renderGeneration } from '../../../apps/grpc/generations.js';
import { RefusedRequest } from '../../../apps/grpc/serve-call.js';
import { serviceDefinition } from '../../../apps/grpc/definitions.js';
import { SCOPES } from '../../../core/access/credential.js';
import { createKey } from '../../../core/access/manage.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { ProviderReport } from '../../../core/ports/provider.js';
import { image } from '../../fixtures/images.js';
import { CannedProvider, connectedProviders } from '../../fixtures/scripted-provider.js';
import { VIEWS } from '../../fixtures/stored-records.js';
import { BASE, type RunningServer, serve } from '../http/host/rest-client.js';
import { connectClient } from '../mcp/mcp-harness.js';
import { unary } from './grpc-client.js';
import { GrpcHarness } from './grpc-harness.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: the fields counted on the wire are those of the message, no bytes mislead the count, and texts arrive as they
// were sent.
// Method: parameters of any shape in a message made by the library, against a count over the JSON; every kind of field
// written as another type; bytes of any kind, against what the library decodes.

/** A member is an entry with a key and a value; a value is one field, and what is in it. */
function fieldsOf(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + 1 + fieldsOf(item), 1);
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + 3 + fieldsOf(member), 1);
}

const fault = (bytes: Uint8Array, most = 2_100) => bytesFault(CreateGenerationRequestSchema, bytes, most);
const received = (bytes: Uint8Array): unknown =>
  serviceDefinition(Generations)['createGeneration']?.requestDeserialize(Buffer.from(bytes));

/** `input` of a request: a message in field 1. */
const request = (input: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(input).finish();
/** `parameters` of an input, with its members already encoded. */
const parameters = (...entries: readonly Uint8Array[]): Uint8Array => {
  const struct = new BinaryWriter();
  for (const entry of entries) struct.tag(1, WireType.LengthDelimited).bytes(entry);
  return new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(struct.finish()).finish();
};
/** A member: its name, and a value that is a number. */
const member = (name: string): BinaryWriter =>
  new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string(name)
    .tag(2, WireType.LengthDelimited)
    .bytes(new BinaryWriter().tag(2, WireType.Bit64).double(1).finish());
const MANY = parameters(...Array.from({ length: 5_000 }, (_, index) => member(`k${index}`).finish()));

describe('the fields of a request on the wire', () => {
  it('are those of the message and of its members', () => {
    // The library writes no member called `__proto__`.
    const value = (fc.jsonValue() as fc.Arbitrary<Json>).filter((json) => !JSON.stringify(json).includes('__proto__'));
    forAllSync(
      500,
      [
        fc.dictionary(
          fc.string().filter((name) => name !== '__proto__'),
          value,
        ),
        fc.array(fc.string(), { maxLength: 5 }),
      ],
      (members: JsonObject, ids) => {
        const bytes = toBinary(
          CreateGenerationRequestSchema,
          create(CreateGenerationRequestSchema, {
            input: { prompt: 'x', parameters: members, referenceUploadIds: ids },
            idempotencyKey: 'k',
          }),
        );
        const count = 1 + 1 + 1 + fieldsOf(members) + ids.length;
        expect([fault(bytes, count - 1), fault(bytes, count)]).to.deep.equal(['too many fields', undefined]);
      },
    );
  });

  it('end, whatever the bytes are', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .array(fc.constantFrom(0x0a, 0x2a, 0x12, 0x32, 0x03, 0x08, 0xff, 0x7f, 0x02, 0x00), { maxLength: 300 })
        .map((bytes) => Uint8Array.from(bytes)),
    );
    forAllSync(2_000, [noise, fc.nat({ max: 50 })], (bytes, most) => {
      expect(fault(bytes, most)).to.be.oneOf([undefined, 'too many fields', 'malformed', 'a member named __proto__']);
      expect(fault(bytes, bytes.length), 'every field takes a byte at least').to.not.equal('too many fields');
    });
  });

  it('are not misread if they have another type than their field', () => {
    // The counter reads the length of the next part as a number, and the decoder reads it as a length.
    const hidden: Readonly<Record<string, Uint8Array>> = {
      'parameters as a number': request(Uint8Array.from([(5 << 3) | 0, ...MANY.subarray(1)])),
      'an operation as text': request(Buffer.concat([Uint8Array.from([(2 << 3) | 2, 0xff, 0xff, 0x03]), MANY])),
      'an operation in eight bytes': request(Buffer.concat([Uint8Array.from([(2 << 3) | 1, 0x01]), MANY])),
      'a prompt as a number': request(Buffer.concat([Uint8Array.from([(3 << 3) | 0, 0x00]), MANY])),
      'a name as a number': request(parameters(Uint8Array.from([(1 << 3) | 0, 0x00]))),
      'a value as a number': request(parameters(Uint8Array.from([(2 << 3) | 0, 0x00]))),
      'a third field of a member': request(parameters(Uint8Array.from([(3 << 3) | 0, 0x00]))),
      'a group that is a known field': request(Uint8Array.from([(5 << 3) | 3, (5 << 3) | 4])),
      'a group without an end': request(Uint8Array.from([(9 << 3) | 3])),
      'a number of 21 bytes in a field that is not known': request(
        Uint8Array.from([(9 << 3) | 0, ...Array<number>(20).fill(0x80), 0x01]),
      ),
      'the end of no group': request(Uint8Array.from([(9 << 3) | 4])),
      'a text that is longer than its message': Buffer.concat([
        Uint8Array.from([0x0a, 0x02, (3 << 3) | 2, 0x20]),
        Buffer.alloc(0x20),
      ]),
    };
    for (const [name, bytes] of Object.entries(hidden))
      expect(fault(bytes), name).to.be.oneOf(['malformed', 'too many fields']);
    expect(fault(request(MANY))).to.equal('too many fields');
    expect(
      fault(request(Uint8Array.from([(9 << 3) | 3, (5 << 3) | 0, 0x01, (9 << 3) | 4])), 100),
      'a group that the message does not know',
    ).to.equal(undefined);
  });

  it('contain no more than was counted, whatever type they are written as', () => {
    const one = fc.record({
      field: fc.integer({ min: 1, max: 8 }),
      wireType: fc.constantFrom(0, 1, 2, 3, 4, 5),
      bytes: fc.uint8Array({ maxLength: 12 }),
    });
    const written = fc
      .array(one, { maxLength: 6 })
      .map((fields) =>
        Buffer.concat(
          fields.flatMap(({ field, wireType, bytes }) => [
            Uint8Array.from([(field << 3) | wireType]),
            wireType === 2 ? Uint8Array.from([bytes.length]) : new Uint8Array(),
            bytes,
          ]),
        ),
      );
    const hidden = parameters(...Array.from({ length: 100 }, (_, index) => member(`k${index}`).finish()));
    forAllSync(
      5_000,
      [written, fc.constantFrom(0, 1, 2, 3, 5), fc.integer({ min: 0, max: 30 })],
      (inner, wireType, before) => {
        const bytes = request(Buffer.concat([inner, Uint8Array.from([(5 << 3) | wireType, before]), hidden]));
        if (fault(bytes, 30) !== undefined) return;
        let members: object | undefined;
        try {
          members = fromBinary(CreateGenerationRequestSchema, bytes).input?.parameters;
        } catch {
          return;
        }
        expect(Object.keys(members ?? {}).length).to.be.at.most(30);
      },
    );
  });

  it('count each of many values written as one', () => {
    const { number } = SearchGenerationsRequestSchema.field.statuses;
    const packed = (values: readonly number[]) =>
      new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(Uint8Array.from(values)).finish();
    const bytes = packed(Array.from({ length: 3_000 }, () => 1));
    expect([
      bytesFault(SearchGenerationsRequestSchema, bytes, 3_000),
      bytesFault(SearchGenerationsRequestSchema, bytes, 3_001),
    ]).to.deep.equal(['too many fields', undefined]);
    expect(
      bytesFault(SearchGenerationsRequestSchema, Buffer.concat([packed([0x80]), packed([1])]), 10),
      'a value that goes on behind its field',
    ).to.equal('malformed');
  });

  it('have no member that the decoder would drop', () => {
    const named = (name: string): unknown => received(request(parameters(member(name).finish())));
    const refused = named('__proto__');
    expect(refused).to.be.instanceOf(RefusedRequest);
    const { code, message } = (refused as RefusedRequest).refusal;
    expect([code, message]).to.deep.equal([
      'FIELD_INVALID',
      'unknown field "__proto__": no member of an object may have this name.',
    ]);
    for (const name of ['constructor', 'proto', '', '__proto__ '])
      expect(named(name), name).to.not.be.instanceOf(RefusedRequest);
    const twice = new BinaryWriter()
      .tag(1, WireType.LengthDelimited)
      .string('size')
      .raw(member('__proto__').finish())
      .finish();
    expect(received(request(parameters(twice)))).to.be.instanceOf(RefusedRequest);
  });

  it('keep a byte order mark at the beginning of a text or a name', () => {
    const bytes = toBinary(
      CreateGenerationRequestSchema,
      create(CreateGenerationRequestSchema, {
        input: { prompt: '\ufeffa cat', parameters: { '\ufeffn': '\ufeff' } },
        idempotencyKey: '\ufeff',
      }),
    );
    const { input, idempotencyKey } = received(bytes) as Message & CreateGenerationRequest;
    expect([input?.prompt, input?.parameters, idempotencyKey]).to.deep.equal([
      '\ufeffa cat',
      { '\ufeffn': '\ufeff' },
      '\ufeff',
    ]);
  });
});

// Goal: an answer that is cached with its record, and its bytes, equal a newly made answer.
// Method: views of a few records in random order, each compared with a new message; addresses and poll times change
// between them. The shared vectors and the histories test calls over a store that caches records.

describe('the answer that shows a generation over gRPC', () => {
  it('is a new one in effect, and so are its bytes, whatever was shown before', () => {
    forAllSync(100, [VIEWS], (views) => {
      for (const view of views) {
        const expected = create(GetGenerationResponseSchema, { generation: renderGeneration(view) });
        const answer = answerOf(view);
        expect(equals(GetGenerationResponseSchema, answer, expected)).to.equal(true);
        const bytes = keptBytes(answer);
        if (bytes !== undefined)
          expect(Buffer.from(bytes).equals(toBinary(GetGenerationResponseSchema, expected))).to.equal(true);
      }
    });
  });

  it('keeps the bytes of what cannot change, and of nothing else', () => {
    forAllSync(100, [VIEWS], (views) => {
      for (const view of views) {
        const isKept = Object.isFrozen(view.generation) && view.outputs.length === 0;
        expect(keptBytes(answerOf(view)) !== undefined).to.equal(isKept);
      }
    });
  });
});

// Goal: what a provider costs the operator, and which provider it is, is shown to operators and to no client.
// Method: a generation whose provider reports unmistakable numbers, read back over every front.

const COST = {
  inputTokens: 70_007_001,
  outputTokens: 70_007_002,
  computeMs: 70_007_003,
  money: { micros: 70_007_004, currency: 'XTS' },
  billedUnitMicros: 70_007_005,
} as const;
const SHOWN_TO_NO_CLIENT = /7000700\d|"(?:XTS|canned|costs?|provider)"/;

class CostlyProvider extends CannedProvider {
  override async poll(...asked: Parameters<CannedProvider['poll']>): Promise<ProviderReport> {
    const report = await super.poll(...asked);
    return report.state === 'succeeded' ? { ...report, cost: COST } : report;
  }
}

describe('what a provider costs', () => {
  let grpc: GrpcHarness;
  let rest: RunningServer;
  let generationId: string;
  let watched = '';
  before(async () => {
    const canned = new CostlyProvider(await image('png', 96, 64));
    grpc = await GrpcHarness.open({ ports: { providers: connectedProviders({ canned }) } });
    rest = await serve(grpc.harness);
    await grpc.harness.startWorker();
    generationId = await grpc.picture('costly');
    for await (const message of grpc.watch(generationId, grpc.as('all')))
      watched += toJsonString(WatchGenerationResponseSchema, message);
  });
  after(async () => {
    await rest.server.close(0);
    await grpc.close();
  });

  const operator = () => grpc.as('all');

  it('is shown to operators, with the provider', async () => {
    const { generation } = await unary(grpc.client, Operations.method.inspectGeneration, { generationId }, operator());
    expect([generation?.provider, generation?.costs.length]).to.deep.equal(['canned', 1]);
    expect(generation?.costs[0]).to.deep.include({
      attempt: 1,
      provider: 'canned',
      inputTokens: 70_007_001n,
      outputTokens: 70_007_002n,
      computeMs: 70_007_003n,
      billedUnitMicros: 70_007_005n,
    });
    expect(generation?.costs[0]?.money).to.deep.include({ micros: 70_007_004n, currency: 'XTS' });
  });

  it('is added up by model for operators', async () => {
    const asked = { accountId: grpc.owner.accountId };
    const { models } = await unary(grpc.client, Operations.method.getModelCosts, asked, operator());
    expect(models).to.have.length(1);
    expect(models[0]).to.deep.include({
      modelKey: 'picture',
      generations: 1n,
      withoutMoney: 0n,
      inputTokens: 70_007_001n,
      outputTokens: 70_007_002n,
      computeMs: 70_007_003n,
    });
    expect(models[0]?.money).to.have.length(1);
    expect(models[0]?.money[0]).to.deep.include({ micros: 70_007_004n, currency: 'XTS' });
    expect(models[0]?.units?.billedMicros).to.equal(70_007_005n);
    expect(models[0]?.units?.charged).to.have.length(1);
    expect(models[0]?.units?.charged[0]).to.deep.include({ unit: PriceUnit.IMAGE, micros: 1_000_000n });
  });

  it('is not shown to clients over gRPC', async () => {
    const got = await unary(grpc.client, Generations.method.getGeneration, { generationId }, operator());
    const listed = await unary(grpc.client, Generations.method.listGenerations, {}, operator());
    const { getGeneration, listGenerations } = Generations.method;
    for (const text of [
      watched,
      toJsonString(getGeneration.output, create(getGeneration.output, got)),
      toJsonString(listGenerations.output, create(listGenerations.output, listed)),
    ])
      expect(text).to.include(generationId).and.to.not.match(SHOWN_TO_NO_CLIENT);
  });

  it('is not shown to clients over REST and MCP', async () => {
    const { secret } = await createKey(grpc.harness.context, { appId: grpc.owner.appId, name: 'k', scopes: SCOPES });
    const answer = await fetch(`${rest.origin}${BASE}/generations/${generationId}`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    const client = await connectClient(`${rest.origin}${BASE}/mcp`, '2026-07-28', secret);
    const told = await client.call('get_generation', { generation_id: generationId });
    await client.close();
    for (const text of [await answer.text(), JSON.stringify(told)])
      expect(text).to.include(generationId).and.to.not.match(SHOWN_TO_NO_CLIENT);
  });
});
