// Goal: over every front each request of the shared vectors gets the same code and the same state, with the front's own
// status for it and in its documented shape, and a refused one leaves nothing behind (invariant 19).
// Method: REST and gRPC on free ports over one harness in memory for each group of vectors; stores are compared before
// and after. One table lists the vectors that a front omits, by reason; they must be impossible to express over it.
import { expect } from 'chai';
import { ROUTES } from '../../../apps/http/developer/routes.js';
import { TokenIssuer } from '../../harness/credential-issuers.js';
import { VECTORS_BY_TOPIC } from './all.js';
import { openInMemory } from './in-memory.js';
import { LEFT_OUT } from './left-out.js';
import { OF_THE_ACCOUNT } from './lists.js';
import { GROUPS, playAllVectors } from './vector-harness.js';

const VECTORS = Object.values(VECTORS_BY_TOPIC).flat();

describe('every front answers the shared vectors', () => playAllVectors('in memory', openInMemory));

describe('an OAuth token is answered as an API key is', () =>
  playAllVectors('in memory, with OAuth tokens', openInMemory, {
    fronts: ['REST'],
    issuer: (context) => new TokenIssuer(context),
    // test/fronts/oauth/own-books.test.ts has what a program sees in their place.
    omits: Object.values(OF_THE_ACCOUNT),
  }));

describe('the shared vectors', () => {
  it('cover every operation, under distinct names', () => {
    const operations = new Set(
      VECTORS.flatMap(({ steps }) => steps).flatMap((step) => ('operation' in step ? step.operation : [])),
    );
    expect([...operations]).to.have.members(ROUTES.map(({ operation }) => operation.operationId));
    expect(new Set(VECTORS.map(({ name }) => name)).size).to.equal(VECTORS.length);
  });

  it('belong to one group each, with the settings that they need', () => {
    expect(GROUPS.flatMap(({ parts }) => parts).flatMap(({ vectors }) => vectors))
      .to.have.members(VECTORS)
      .and.to.have.length(VECTORS.length);
    for (const { parts, needs } of GROUPS) {
      for (const { settings } of parts.flatMap(({ vectors }) => vectors)) {
        if (settings === undefined) expect(needs.settings).to.deep.equal({});
        else expect(needs.settings).to.deep.include(settings);
      }
    }
  });

  it('are excluded by existing names, once each', () => {
    for (const reasons of Object.values(LEFT_OUT)) {
      const names = Object.values(reasons).flat();
      expect(new Set(names).size).to.equal(names.length);
      expect(VECTORS.map(({ name }) => name)).to.include.members(names);
    }
  });
});
