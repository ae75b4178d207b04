/*
 * Goal: a pointer leads to the values that its document has at that place, in order, and nowhere else.
 * Method: pointers to every leaf of random documents, and documents with what an answer may hold.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { valuesAt } from '../../../../adapters/providers/shared/pointer-values.js';
import { escapePointerToken } from '../../../../core/json.js';

describe('pointers into an answer', () => {
  it('lead to each leaf of a document', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (document) => {
        for (const [pointer, leaf] of leavesOf(document, '')) {
          if (!pointer.split('/').includes('*')) expect(valuesAt(document, pointer)).to.deep.equal([leaf]);
        }
      }),
    );
  });

  it('lead to every item of a list, in order, a hundred at most', () => {
    const document = {
      images: [{ url: 'a' }, { width: 1 }, { url: 'b' }],
      many: Array.from({ length: 500 }, () => [1, 2]),
    };
    expect(valuesAt(document, '/images/*/url')).to.deep.equal(['a', 'b']);
    expect(valuesAt(document, '/images/2/url')).to.deep.equal(['b']);
    expect(valuesAt(document, '/many/*/*')).to.have.length(100);
  });

  it('lead nowhere from what is no list or object, and to no inherited member', () => {
    for (const document of [null, 'text', 7, [], { images: 'text' }])
      expect(valuesAt(document, '/images/*/url')).to.deep.equal([]);
    for (const pointer of ['/constructor', '/__proto__', '/length', '/-1', '/01', '/9999999999'])
      for (const document of [{}, [1]]) expect(valuesAt(document, pointer)).to.deep.equal([]);
    expect(valuesAt({ '*': 1 }, '/*')).to.deep.equal([1]);
  });
});

function leavesOf(value: unknown, pointer: string): (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null) return [[pointer, value]];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${pointer}/${escapePointerToken(name)}`));
}
