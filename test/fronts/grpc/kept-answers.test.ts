// Goal: an answer that is kept with its record, and its bytes, are what would be made now.
// Method: views of a few records in random order, each compared with a new message; addresses and poll times change
// between them. What a call over a store that keeps records is answered, its vectors and histories show.
import { create, equals, toBinary } from '@bufbuild/protobuf';
import { expect } from 'chai';
import fc from 'fast-check';
import { GetGenerationResponseSchema } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { answerOf, keptBytes, renderGeneration } from '../../../apps/grpc/generations.js';
import { VIEWS } from '../../fixtures/generation-views.js';

describe('the answer that shows a generation over gRPC', () => {
  it('is a new one in effect, and so are its bytes, whatever was shown before', () => {
    fc.assert(
      fc.property(VIEWS, (views) => {
        for (const view of views) {
          const expected = create(GetGenerationResponseSchema, { generation: renderGeneration(view) });
          const answer = answerOf(view);
          expect(equals(GetGenerationResponseSchema, answer, expected)).to.equal(true);
          const bytes = keptBytes(answer);
          if (bytes !== undefined)
            expect(Buffer.from(bytes).equals(toBinary(GetGenerationResponseSchema, expected))).to.equal(true);
        }
      }),
    );
  });

  it('keeps the bytes of what cannot change, and of nothing else', () => {
    fc.assert(
      fc.property(VIEWS, (views) => {
        for (const view of views) {
          const isKept = Object.isFrozen(view.generation) && view.outputs.length === 0;
          expect(keptBytes(answerOf(view)) !== undefined).to.equal(isKept);
        }
      }),
    );
  });
});
