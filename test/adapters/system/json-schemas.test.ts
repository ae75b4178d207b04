// Goal: validation by ajv keeps the port's contract, and mistakes in a schema are reported at their position.
// Method: the contract; a table of wrong schemas and the pointers expected; a schema compiled once.
import { expect } from 'chai';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { jsonSchemasContract } from '../../contracts/json-schemas.contract.js';

jsonSchemasContract({
  name: 'ajv',
  open: async () => new AjvJsonSchemas(),
  close: async () => undefined,
  supports: {},
});

const WRONG: readonly {
  readonly what: string;
  readonly schema: Json;
  readonly pointer: string;
  readonly says: RegExp;
}[] = [
  { what: 'no object', schema: true, pointer: '', says: /must be an object/ },
  {
    what: 'an unknown type',
    schema: { properties: { a: { type: 'strin' } } },
    pointer: '/properties/a/type',
    says: /type/,
  },
  {
    what: 'a negative length',
    schema: { properties: { a: { maxLength: -1 } } },
    pointer: '/properties/a/maxLength',
    says: /at least 0/,
  },
  { what: 'a keyword of the wrong type', schema: { required: 'a' }, pointer: '/required', says: /must be an array/ },
  {
    what: 'a broken pattern',
    schema: { properties: { a: { pattern: '[' } } },
    pointer: '/properties/a/pattern',
    says: /regular expression/,
  },
  {
    what: 'a broken pattern for names',
    schema: { patternProperties: { '(': {} } },
    pointer: '/patternProperties/(',
    says: /regular expression/,
  },
  {
    what: 'a misspelt keyword',
    schema: { properties: { 'a/b': { maxLenght: 1 } } },
    pointer: '/properties/a~1b/maxLenght',
    says: /not a keyword/,
  },
  {
    what: 'a misspelt keyword in a branch',
    schema: { anyOf: [{}, { items: { itmes: {} } }] },
    pointer: '/anyOf/1/items/itmes',
    says: /not a keyword/,
  },
  {
    what: 'a format that is not checked',
    schema: { properties: { a: { format: 'zip-code' } } },
    pointer: '/properties/a/format',
    says: /must be one of uuid\.$/,
  },
  {
    what: 'a reference that leads outside',
    schema: { $ref: 'https://example.com/other.json' },
    pointer: '',
    says: /cannot be compiled/,
  },
];

describe('checkSchema', () => {
  for (const { what, schema, pointer, says } of WRONG) {
    it(`finds ${what}`, () => {
      const [first] = checkSchema(schema);
      expect(first, 'a fault').to.not.equal(undefined);
      expect(first!.pointer).to.equal(pointer);
      expect(first!.message).to.match(says);
    });
  }

  it('refuses a schema nested very deep', () => {
    let schema: JsonObject = {};
    for (let depth = 0; depth < 10_000; depth += 1) schema = { not: schema };
    expect(checkSchema(schema)).to.have.length(1);
  });

  it('accepts a valid schema, property names that look like keywords included', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { type: { const: 'x' }, maxLenght: { $ref: '#/$defs/n' } },
      $defs: { n: { type: 'integer', default: 1 } },
    };
    expect(checkSchema(schema)).to.deep.equal([]);
  });
});

describe('AjvJsonSchemas', () => {
  it('throws for a schema that cannot be compiled', () => {
    expect(() => new AjvJsonSchemas().check({ maxLenght: 1 }, 'x')).to.throw();
  });

  it('compiles a schema object once: a later change of it is not seen', () => {
    const schemas = new AjvJsonSchemas();
    const schema: JsonObject = { type: 'string', maxLength: 1 };
    expect(schemas.check(schema, 'ab').faults).to.have.length(1);
    schema['maxLength'] = 5;
    expect(schemas.check(schema, 'ab').faults).to.have.length(1);
  });
});
