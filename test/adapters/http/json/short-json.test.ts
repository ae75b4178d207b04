/*
 * Goal: the short members of a JSON document are read as they are, however its bytes come, and its long ones take no memory.
 * Method: properties against the platform's own parser, and documents that repeat what was sent.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { CUT_MARK, ShortJson } from '../../../../adapters/http/json/short-json.js';

const tooLong = () => new Error('too long');

function read(text: string | Buffer, sizes: readonly number[] = [7], maxBytes = 100_000, skips = true): unknown {
  const bytes = Buffer.from(text);
  const short = new ShortJson(maxBytes, tooLong, skips);
  for (let at = 0, index = 0; at < bytes.byteLength; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    short.read(bytes.subarray(at, at + size));
    at += size;
  }
  const json = short.end();
  return 'value' in json ? json.value : json.fault;
}

const sizesOf = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });

describe('the short members of a JSON document', () => {
  it('are all of a document that has no long ones, however it is cut', () => {
    fc.assert(
      fc.property(fc.json(), sizesOf, (text, sizes) => {
        expect(read(text, sizes, 1_000_000, false)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('are kept with long strings of any characters beside them, which are cut to their beginning', () => {
    const unit = fc.constantFrom('a', '"', '\\', '\n', 'é', '語', '😀', '\u0001');
    fc.assert(
      fc.property(fc.array(unit, { minLength: 17_000, maxLength: 18_000 }), sizesOf, (chars, sizes) => {
        const long = chars.join('');
        const value = read(JSON.stringify({ before: 1, long, list: [long, { code: 'x' }] }), [...sizes, 4_096]);
        const { before, long: cut, list } = value as { before: number; long: string; list: [string, object] };
        expect([before, list[1]]).to.deep.equal([1, { code: 'x' }]);
        for (const head of [cut, list[0]]) {
          expect(head.endsWith(CUT_MARK)).to.equal(true);
          expect(head.length).to.be.within(300, 2_100);
          expect(long.startsWith(head.slice(0, -1).replace(/[\ud800-\udbff]$/, ''))).to.equal(true);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('are found behind a long string that ends in escapes', () => {
    for (const end of ['\\\\', '\\"', '\\u0022', '\\u005c', '\\\\\\"'])
      for (const size of [1, 2, 5, 40_000])
        expect(read(`{"a":"${'x'.repeat(20_000)}${end}","code":"found"}`, [size]), end).to.have.property(
          'code',
          'found',
        );
  });

  it('leave out the lists and objects that repeat what was sent, and keep short texts of these names', () => {
    const input = { image: 'x'.repeat(1_000), nested: [{ 'a"]}': '\\"]}' }], numbers: Array(50_000).fill(1.5) };
    const text = JSON.stringify({ detail: [{ input, ctx: [[input]], type: 'missing' }], input: 'word', request: null });
    expect(read(text, [100], 4_096)).to.deep.equal({
      detail: [{ input: null, ctx: null, type: 'missing' }],
      input: 'word',
      request: null,
    });
    expect(read(JSON.stringify({ input: { code: 1 } }), [3], 4_096, false)).to.deep.equal({ input: { code: 1 } });
  });

  it('are refused where they are more than the bound', () => {
    expect(() => read(JSON.stringify(Array(1_000).fill('word')), [100], 4_096)).to.throw('too long');
    expect(() => read('"1234567"', [2], 8)).to.throw('too long');
    expect(read('"123456"', [2], 8)).to.equal('123456');
  });

  it('are none of what is not JSON, or has too many levels', () => {
    for (const text of ['', '{', '{"a":"', `{"a":"${'x'.repeat(20_000)}`, '{"input":[', 'x'])
      expect(read(text), text.slice(0, 20)).to.equal('not-json');
    expect(read('['.repeat(300) + ']'.repeat(300))).to.equal('too-deep');
  });
});
