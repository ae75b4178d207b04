// Goal: the fields of a message are counted on the wire as they are in the message, and no bytes at all lead the count astray.
// Method: parameters of any shape in a message made by the library, against a count over the JSON; bytes of any kind.
import { create, toBinary } from '@bufbuild/protobuf';
import { expect } from 'chai';
import fc from 'fast-check';
import { holdsMoreFields } from '../../../apps/grpc/calls/request-bytes.js';
import { CreateGenerationRequestSchema } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import type { Json, JsonObject } from '../../../core/json.js';

/** A member is an entry with a key and a value; a value is one field, and what is in it. */
function fieldsOf(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + 1 + fieldsOf(item), 1);
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + 3 + fieldsOf(member), 1);
}

describe('the fields of a request on the wire', () => {
  it('are those of the message and of what is in it', () => {
    // The library writes no member called `__proto__`.
    const value = (fc.jsonValue() as fc.Arbitrary<Json>).filter((json) => !JSON.stringify(json).includes('__proto__'));
    fc.assert(fc.property(fc.dictionary(fc.string().filter((name) => name !== '__proto__'), value), fc.array(fc.string(), { maxLength: 5 }), (parameters: JsonObject, ids) => {
      const bytes = toBinary(CreateGenerationRequestSchema, create(CreateGenerationRequestSchema, { input: { prompt: 'x', parameters, referenceUploadIds: ids }, idempotencyKey: 'k' }));
      const count = 1 + 1 + 1 + fieldsOf(parameters) + ids.length;
      expect([holdsMoreFields(CreateGenerationRequestSchema, bytes, count - 1), holdsMoreFields(CreateGenerationRequestSchema, bytes, count)]).to.deep.equal([true, false]);
    }), { numRuns: 500 });
  });

  it('come to an end, whatever the bytes are', () => {
    const noise = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.array(fc.constantFrom(0x0a, 0x2a, 0x12, 0x32, 0x03, 0x08, 0xff, 0x7f, 0x02, 0x00), { maxLength: 300 }).map((bytes) => Uint8Array.from(bytes)));
    fc.assert(fc.property(noise, fc.nat({ max: 50 }), (bytes, most) => {
      expect(holdsMoreFields(CreateGenerationRequestSchema, bytes, most)).to.be.a('boolean');
      expect(holdsMoreFields(CreateGenerationRequestSchema, bytes, bytes.length), 'every field takes a byte at least').to.equal(false);
    }), { numRuns: 2_000 });
  });
});
