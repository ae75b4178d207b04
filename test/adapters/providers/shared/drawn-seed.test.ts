/*
 * Goal: a seed that the service draws is a whole number which a client could have sent, and differs from task to task.
 * Method: schemas of many forms, arbitrary bounds and tokens; each seed is checked as a request of a client is.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { chosenSeed, drawnSeed } from '../../../../adapters/providers/shared/drawn-seed.js';
import { AjvJsonSchemas } from '../../../../adapters/system/ajv-json-schemas.js';
import type { JsonObject } from '../../../../core/json.js';

const ANYWHERE = { least: -Infinity, most: Infinity };
const schemas = new AjvJsonSchemas();

const withSeed = (seed: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  properties: { seed, style: { type: 'string', enum: ['oil', 'ink'] } },
  ...more,
});

function draw(
  inputSchema: JsonObject | undefined,
  { bounds = ANYWHERE, isUsable = () => true, parameters = {}, token = randomUUID() }: DrawWish = {},
) {
  return drawnSeed({ token, parameters, inputSchema }, bounds, isUsable);
}

interface DrawWish {
  readonly bounds?: { readonly least: number; readonly most: number };
  readonly isUsable?: (seed: number) => boolean;
  readonly parameters?: JsonObject;
  readonly token?: string;
}

const SCHEMAS: readonly (readonly [of: string, schema: JsonObject, atLeastDifferent: number])[] = [
  ['32 bits', { type: 'integer', minimum: 0, maximum: 4_294_967_295 }, 20],
  ['a small range', { type: 'integer', minimum: 3, maximum: 5 }, 3],
  ['one value', { type: 'integer', minimum: 7, maximum: 7 }, 1],
  ['negative values', { type: 'integer', minimum: -100, maximum: -50 }, 10],
  ['only a maximum below 0', { type: 'integer', maximum: -5 }, 20],
  ['only a minimum', { type: 'integer', minimum: 5_000_000_000 }, 20],
  ['exclusive bounds', { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 4 }, 3],
  ['bounds that are no whole numbers', { type: 'number', minimum: 0.5, maximum: 3.5 }, 3],
  ['multiples', { type: 'integer', minimum: 1, maximum: 1_000_000, multipleOf: 1_000 }, 15],
  ['multiples of a fraction', { type: 'number', minimum: 0, maximum: 1_000, multipleOf: 2.5 }, 15],
  [
    'multiples of several',
    { type: 'integer', multipleOf: 6, minimum: 0, maximum: 6_000, allOf: [{ multipleOf: 4 }] },
    15,
  ],
  ['a list', { type: 'integer', enum: [11, 22, 33] }, 3],
  ['a list with other values', { enum: ['no', 4, null, 5.5] }, 1],
  ['a constant', { const: 9 }, 1],
  ['parts that hold together', { allOf: [{ type: 'integer', minimum: 10 }, { maximum: 12 }] }, 3],
  ['alternatives', { anyOf: [{ type: 'integer', minimum: 0, maximum: 1 }, { const: 90 }] }, 3],
  [
    'one of several',
    {
      oneOf: [
        { type: 'integer', minimum: 0, maximum: 9 },
        { type: 'integer', minimum: 5, maximum: 14 },
      ],
    },
    5,
  ],
  ['an exception', { type: 'integer', minimum: 0, maximum: 3, not: { const: 2 } }, 3],
  ['another place of the schema', { $ref: '#/$defs/seed' }, 3],
  ['a text of digits', { type: 'string', pattern: '^[0-9]{1,10}$' }, 20],
];

describe('a drawn seed', () => {
  for (const [of, seed, different] of SCHEMAS)
    it(`fits a schema of ${of}`, () => {
      const schema = withSeed(seed, { $defs: { seed: { type: 'integer', minimum: 1, maximum: 3 } } });
      const drawn = Array.from({ length: 40 }, () => draw(schema));
      for (const value of drawn) {
        expect(Number.isSafeInteger(Number(value)), String(value)).to.equal(true);
        expect(schemas.check(schema, { seed: value! }).faults, String(value)).to.deep.equal([]);
      }
      expect(new Set(drawn).size).to.be.at.least(different);
    });

  it('fits what the schema asks beside the other parameters', () => {
    const ink = { properties: { style: { const: 'ink' } }, required: ['style'] };
    const schema = withSeed(
      { type: 'integer', minimum: 0, maximum: 100 },
      { allOf: [{ anyOf: [{ not: ink }, { properties: { seed: { maximum: 3 } } }] }] },
    );
    const drawn = Array.from({ length: 30 }, () => draw(schema, { parameters: { style: 'ink' } }));
    for (const value of drawn) expect(value).to.be.within(0, 3);
    expect(new Set(drawn).size).to.be.at.least(3);
  });

  it('fits the bounds of targets as well, and what is usable there', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: -1_000, max: 1_000 }), fc.nat({ max: 1_000 }), (token, least, more) => {
        const bounds = { least, most: least + more };
        expect(draw(undefined, { bounds, token })).to.be.within(least, least + more);
      }),
    );
    const drawn = Array.from({ length: 40 }, () => draw(undefined, { isUsable: (seed) => seed % 100 === 7 }));
    for (const value of drawn) expect(Number(value) % 100).to.equal(7);
    expect(new Set(drawn).size).to.be.at.least(30);
  });

  it('fits the schema of a parameter with another name', () => {
    const inputSchema = { type: 'object', properties: { 'noise/x': { type: 'integer', minimum: 8, maximum: 9 } } };
    for (let tasks = 0; tasks < 10; tasks += 1) {
      const seedTask = { token: randomUUID(), parameters: { size: 'wrong' }, inputSchema, parameter: 'noise/x' };
      expect(drawnSeed(seedTask, ANYWHERE, () => true)).to.be.within(8, 9);
      expect(chosenSeed(seedTask, [1, 9, 'nine'])).to.equal(9);
      expect(chosenSeed(seedTask, [1])).to.equal(undefined);
    }
  });

  it('is the same for the same task', () => {
    const token = randomUUID();
    expect(draw(undefined, { token }))
      .to.equal(draw(undefined, { token }))
      .and.to.be.within(0, 2 ** 31 - 1);
  });

  it('is found where the parameters no longer fit the schema of the catalog', () => {
    const schema = withSeed({ type: 'integer', minimum: 4, maximum: 6 });
    expect(draw(schema, { parameters: { style: 'a style of last week' } })).to.be.within(4, 6);
  });

  it('is undefined where none fits', () => {
    expect(draw(withSeed({ type: 'integer', minimum: 5, maximum: 4 }))).to.equal(undefined);
    expect(draw(withSeed({ type: 'boolean' }))).to.equal(undefined);
    expect(draw(withSeed({ type: 'integer', maximum: 10 }), { bounds: { least: 11, most: 20 } })).to.equal(undefined);
  });
});
