import { expect } from 'chai';
import fc from 'fast-check';
import { entryOf, facetTerm, matchesTerms, termsOf } from '../../../core/search/words.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: people find a prompt by each of its words and by the beginning of each, in every script.
// Method: prompts and queries one by one; then random prompts, each searched for by parts of itself.

const finds = (query: string, prompt: string): boolean =>
  matchesTerms(entryOf(aGeneration(1, { prompt })).terms, termsOf(query));

describe('words of prompts', () => {
  const FOUND: readonly (readonly [query: string, prompt: string])[] = [
    ['fox', 'A red fox, at dawn.'],
    ['FO', 'A red fox'],
    ['dawn red', 'A red fox at dawn'],
    ['strasse', 'Die Straße'],
    ['straße', 'DIE STRASSE'],
    ['οδοσ', 'ΟΔΟΣ'],
    ['οδος', 'ΟΔΟΣ'],
    ['cafe\u0301', 'caf\u00e9'],
    ['ﬁsh', 'fish'],
    ['ｆｏｘ', 'fox'],
    ['猫', '黒い猫'],
    ['黒', '黒い猫'],
    ['黒い', '黒い猫'],
    ['い猫', '黒い猫'],
    ['黒い猫', '夜の黒い猫が'],
    ['ｶﾞ', 'ガラス'],
    ['แมว', 'รูปแมวดำ'],
    ['고양', '고양이'],
    ['котё', 'Котёнок'],
    ['🐈', 'cat 🐈'],
    ['1920', 'size 1920x1080'],
    ['fox!!!', 'fox'],
    ['o', "fox o'clock"],
    ['3d猫', '3D猫'],
  ];
  for (const [query, prompt] of FOUND)
    it(`are found: ${query} in ${prompt}`, () => expect(finds(query, prompt)).to.equal(true));

  const NOT_FOUND: readonly (readonly [query: string, prompt: string])[] = [
    ['ox', 'A red fox'],
    ['foxes', 'A red fox'],
    ['red wolf', 'A red fox'],
    ['cafe', 'caf\u00e9'],
    ['犬', '黒い猫'],
    ['猫黒', '黒い猫'],
    ['M:sandbox', 'a fox'],
    ['trace:1', 'a fox'],
  ];
  for (const [query, prompt] of NOT_FOUND)
    it(`are not found: ${query} in ${prompt}`, () => expect(finds(query, prompt)).to.equal(false));

  it('are none in a query without letters, digits and pictographs', () => {
    for (const query of ['', ' ', '!?.,', '-- "" --', '\u200b\u200d', '%_', '\u3002'])
      expect(termsOf(query), JSON.stringify(query)).to.deep.equal([]);
  });

  it('are bounded in number and length, and never have spaces or half characters', () => {
    const long = `${'x'.repeat(63)}𝒳yz ${'猫犬'.repeat(4_000)}`;
    const { terms } = entryOf(
      aGeneration(1, { prompt: `${long} ${Array.from({ length: 2_000 }, (_, n) => `w${n}`).join(' ')}` }),
    );
    expect(terms.length).to.be.at.most(600);
    for (const term of terms) {
      expect(term.length, term).to.be.within(1, 200);
      expect(term).not.to.match(/\s|\p{Surrogate}/u);
    }
    expect(finds('x'.repeat(64), long)).to.equal(true);
  });

  it('have one term of each field, without spaces, which no word is like', () => {
    const record = aGeneration(1, { modelKey: 'a b%20c', prompt: 'M:a K:image' });
    const { terms } = entryOf(record);
    expect(terms).to.include.members([facetTerm('modelKey', 'a b%20c').text, facetTerm('modality', 'image').text]);
    expect(facetTerm('modelKey', 'a b').text).not.to.equal(facetTerm('modelKey', 'a%20b').text);
    expect(terms.filter((term) => term.includes(' '))).to.deep.equal([]);
    expect(terms.filter((term) => term === 'K:image')).to.have.length(1);
  });

  it('find each prompt by any of its words and by beginnings of them', () => {
    const part = fc.string({
      unit: fc.constantFrom('a', 'B', 'ß', 'é', '1', '猫', '犬', 'カ', '🐈'),
      minLength: 1,
      maxLength: 6,
    });
    forAllSync(300, [fc.array(part, { minLength: 1, maxLength: 8 }), fc.nat(), fc.nat(6)], (parts, which, length) => {
      const prompt = parts.join(', ');
      const chosen = [...(parts[which % parts.length] ?? '')];
      const query = chosen.slice(0, 1 + (length % chosen.length)).join('');
      expect(finds(query, prompt), `${query} in ${prompt}`).to.equal(true);
      expect(finds(prompt.slice(0, 100), prompt)).to.equal(true);
    });
  });
});
