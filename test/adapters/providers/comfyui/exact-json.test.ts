/*
 * Goal: a workflow file is read as Python reads it, and every number keeps the characters that it has in the file.
 * Method: arbitrary JSON against `JSON.parse`; numbers that JavaScript cannot hold, by their source; texts that are not JSON.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { JsonUnreadable, readExactJson } from '../../../../adapters/providers/comfyui/exact-json.js';

describe('the reader of workflow files', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom('', '\uFEFF'), (text, mark) => {
        expect(readExactJson(`${mark} ${text}\n`).value).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('keeps the characters of each number', () => {
    for (const number of ['18446744073709551615', '-9007199254740993', '0.10000000000000001', '1e400', '1.0', '-0'])
      expect(readExactJson(`{"a": ${number} }`).members!.get('a')!.source).to.equal(number);
  });

  it('reads NaN, Infinity and -Infinity outside of strings', () => {
    const { value, items } = readExactJson('[NaN, -Infinity, Infinity, "NaN"]');
    expect(value).to.deep.equal([NaN, -Infinity, Infinity, 'NaN']);
    expect(items!.map(({ source }) => source)).to.deep.equal(['NaN', '-Infinity', 'Infinity', '"NaN"']);
  });

  it('keeps the order of members, and the last of those with one name', () => {
    const { members, value } = readExactJson('{"9": 1, "2": 2, "9": 3, "__proto__": 4}');
    expect([...members!].map(([name, { source }]) => [name, source])).to.deep.equal([
      ['2', '2'],
      ['9', '3'],
      ['__proto__', '4'],
    ]);
    expect(Object.keys(value as object)).to.deep.equal(['2', '9', '__proto__']);
  });

  it('says where a text is not JSON', () => {
    for (const [text, at] of [
      ['', 'line 1, column 1'],
      ['{"a": %seed%}', 'line 1, column 7'],
      ['{\n  "a": 01}', 'line 2, column 9'],
      ['[1,]', 'line 1, column 4'],
      ['["a\nb"]', 'line 1, column 2'],
      ['"\\x"', 'line 1, column 1'],
      ['"open', 'line 1, column 1'],
      ['-NaN', 'line 1, column 1'],
      ['[1] 2', 'line 1, column 5'],
      ['['.repeat(300), 'line 1, column 202'],
    ] as const)
      expect(() => readExactJson(text), text)
        .to.throw(JsonUnreadable)
        .with.property('at', at);
  });

  it('reads a string of several megabytes', () => {
    const text = JSON.stringify({ image: `\\"${'a'.repeat(3_000_000)}` });
    expect(readExactJson(text).value).to.deep.equal(JSON.parse(text));
  });
});
