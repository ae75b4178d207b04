// Goal: over real HTTP every request of the shared vectors gets the right code, status and state, in the documented
// shape, and a refused one leaves nothing behind.
// Method: each vector on a server and a world of its own; stores compared before and after; answers against OpenAPI.
import { expect } from 'chai';
import { STATUSES } from '../../../apps/rest/statuses.js';
import { ROUTES } from '../../../apps/rest/routes.js';
import type { ErrorCode } from '../../../core/errors.js';
import { VECTORS_BY_TOPIC } from '../vectors/all.js';
import { play } from '../vectors/play.js';
import { expectConformity } from './conformity.js';
import { openRestClient } from './rest-client.js';

const STATUS_OF_SUCCESS = new Map(ROUTES.map(({ operation }) => [operation.operationId, operation.status]));

describe('REST answers the shared vectors', () => {
  for (const [topic, vectors] of Object.entries(VECTORS_BY_TOPIC)) {
    describe(topic, () => {
      for (const vector of vectors) {
        it(vector.name, () => play(vector, (world) => openRestClient(world, ({ operation }, answer) => {
          const expected = answer.code === 'OK' ? STATUS_OF_SUCCESS.get(operation) : STATUSES[answer.code as ErrorCode];
          expect(answer.status, 'status').to.equal(expected);
          expect(answer.headers.get('www-authenticate'), 'WWW-Authenticate').to.equal(answer.status === 401 ? 'Bearer' : null);
          expectConformity(operation, answer);
        })));
      }
    });
  }

  it('has a vector for every operation and no two of one name', () => {
    const vectors = Object.values(VECTORS_BY_TOPIC).flat();
    const operations = new Set(vectors.flatMap(({ steps }) => steps).map((step) => ('operation' in step ? step.operation : '')));
    expect([...operations].filter((name) => name !== '')).to.have.members(ROUTES.map(({ operation }) => operation.operationId));
    expect(new Set(vectors.map(({ name }) => name)).size).to.equal(vectors.length);
  });
});
