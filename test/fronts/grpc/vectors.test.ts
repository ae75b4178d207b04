// Goal: over gRPC every request of the shared vectors that its messages have room for gets the code and the state it has over
// REST, with the canonical status, and a refused one leaves nothing behind.
// Method: each vector on a server and a world of its own. What cannot be said in typed messages is counted, so that no more
// is left out than is known.
import { expect } from 'chai';
import type { ErrorCode } from '../../../core/errors.js';
import { GRPC_STATUSES } from '../../../apps/grpc/statuses.js';
import { VECTORS_BY_TOPIC } from '../vectors/all.js';
import { play } from '../vectors/play.js';
import type { Vector } from '../vectors/vector.js';
import { openGrpcClient } from './grpc-client.js';
import { NotExpressible } from './messages.js';

/** X-App-Id says which App a key is meant to be of; here the App is named by every call. */
const namesApp = ({ steps }: Vector) => steps.some((step) => 'operation' in step && step.app !== undefined);

describe('gRPC answers the shared vectors', () => {
  let leftOut = 0;
  for (const [topic, vectors] of Object.entries(VECTORS_BY_TOPIC)) {
    describe(topic, () => {
      for (const vector of vectors) {
        it(vector.name, async function answers() {
          if (namesApp(vector)) return this.skip();
          await play(vector, (world) => openGrpcClient(world, (_, answer) => {
            expect(answer.status, 'status').to.equal(answer.code === 'OK' ? 0 : GRPC_STATUSES[answer.code as ErrorCode]);
          })).catch((error: unknown) => {
            if (!(error instanceof NotExpressible)) throw error;
            leftOut += 1;
            this.skip();
          });
        });
      }
    });
  }

  describe('and leaves out', () => {
    it('only what typed messages have no room for', () => expect(leftOut).to.equal(26));
  });
});
