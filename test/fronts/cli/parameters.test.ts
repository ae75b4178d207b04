// Goal: the text after --param becomes a value of the type that the model requires; any other text is refused.
// Method: tables of inputs with the expected value or error message.
import { expect } from 'chai';
import { readParameters } from '../../../apps/cli/client/generation-input.js';
import { readTime } from '../../../apps/cli/operator/texts.js';
import type { JsonObject } from '../../../core/json.js';

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    n: { type: 'integer' },
    strength: { type: 'number' },
    tiled: { type: 'boolean' },
    style: { type: 'string' },
    box: { type: 'object' },
    seed: { type: ['integer', 'null'] },
    tag: { type: ['string', 'null'] },
    level: { enum: [1, 'high'] },
  },
};

describe('--param', () => {
  const VALUES: readonly (readonly [string, JsonObject])[] = [
    ['n=3', { n: 3 }],
    ['n=-3', { n: -3 }],
    ['strength=0.5', { strength: 0.5 }],
    ['strength=1e-3', { strength: 0.001 }],
    ['tiled=true', { tiled: true }],
    ['tiled=false', { tiled: false }],
    ['style=3', { style: '3' }],
    ['style=', { style: '' }],
    ['style=a=b', { style: 'a=b' }],
    ['box={"x":1}', { box: { x: 1 } }],
    ['seed=null', { seed: null }],
    ['seed=7', { seed: 7 }],
    ['tag=7', { tag: '7' }],
    ['tag=null', { tag: null }],
    ['level=high', { level: 'high' }],
    ['level=1', { level: 1 }],
  ];
  for (const [pair, value] of VALUES) {
    it(`reads ${pair}`, () => {
      expect(readParameters([pair], SCHEMA)).to.deep.equal(value);
    });
  }

  const FAULTS: readonly (readonly [readonly string[], string])[] = [
    [['n'], '--param must be written as name=value, not n.'],
    [['=3'], '--param must be written as name=value, not =3.'],
    [['n=3.5'], 'The parameter n must be an integer, not 3.5.'],
    [['n='], 'The parameter n must be an integer, not empty.'],
    [['strength=much'], 'The parameter strength must be a number, not much.'],
    [['tiled=yes'], 'The parameter tiled must be true or false, not yes.'],
    [['box={'], 'The parameter box must be written as JSON.'],
    [['n=1', 'n=2'], '--param n is given twice.'],
    [
      ['toString=1'],
      'There is no parameter toString; the model takes n, strength, tiled, style, box, seed, tag, level.',
    ],
  ];
  for (const [pairs, message] of FAULTS) {
    it(`refuses ${pairs.join(' ')}`, () => {
      expect(() => readParameters(pairs, SCHEMA)).to.throw(message);
    });
  }
});

describe('a time on the command line', () => {
  const NOW = Date.UTC(2030, 0, 1);
  const VALUES: readonly (readonly [string, number])[] = [
    ['now', NOW],
    ['30m', NOW + 1_800_000],
    ['12h', NOW + 43_200_000],
    ['90d', NOW + 7_776_000_000],
    ['2030-01-31', Date.UTC(2030, 0, 31)],
    ['2030-01-31T12:00Z', Date.UTC(2030, 0, 31, 12)],
    ['2030-01-31T12:00:00.250+02:00', Date.UTC(2030, 0, 31, 10, 0, 0, 250)],
  ];
  for (const [text, at] of VALUES) {
    it(`reads ${text}`, () => {
      expect(readTime(text, NOW)).to.equal(at);
    });
  }
  for (const text of ['', 'soon', '90', '-1d', '2030-13-01', '31.01.2030', '2030-01-31T12:00']) {
    it(`refuses ${text || 'nothing'}`, () => {
      expect(() => readTime(text, NOW)).to.throw('A time is written as');
    });
  }
});
