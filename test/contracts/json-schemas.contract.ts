// Goal: faults point at the field itself, read as one sentence and come in the promised order; the value is not
// modified.
// Method: a table of schemas, values and expected faults, worst input first; then tests of copies and defaults.
import { expect } from 'chai';
import type { Json, JsonObject } from '../../core/json.js';
import type { JsonSchemas } from '../../core/ports/machine.js';
import { contract, type ContractSubject } from './subject.js';

const REQUEST: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['model_key', 'prompt'],
  properties: {
    model_key: { type: 'string', minLength: 1 },
    prompt: { type: 'string', minLength: 1, maxLength: 8 },
    parameters: {
      type: 'object',
      additionalProperties: false,
      required: ['size'],
      properties: {
        'size': { type: 'string', enum: ['256x256', '512x512'] },
        'count': { type: 'integer', minimum: 1, maximum: 4, default: 1 },
        'a/b~c': { type: 'boolean' },
      },
    },
    ids: { type: 'array', maxItems: 2, uniqueItems: true, items: { type: 'string', format: 'uuid' } },
    things: {
      type: 'array',
      uniqueItems: true,
      items: { type: ['object', 'array', 'integer', 'string', 'boolean', 'null'] },
    },
    trace: { type: 'string', pattern: '^[A-Za-z0-9._:-]+$' },
  },
};

const FINE = '"model_key":"m","prompt":"p"';
const ID = '0190a6e0-0000-7000-8000-00000000000A';

/** Each text sent, with its faults as `kind pointer: message`. */
const VECTORS: readonly { readonly what: string; readonly text: string; readonly faults: readonly string[] }[] = [
  {
    what: 'an own __proto__',
    text: `{${FINE},"__proto__":{"admin":true}}`,
    faults: ['invalid /__proto__: unknown field "__proto__".'],
  },
  {
    what: 'a nested __proto__',
    text: `{${FINE},"parameters":{"size":"256x256","__proto__":1}}`,
    faults: ['invalid /parameters/__proto__: unknown field "parameters.__proto__".'],
  },
  {
    what: 'a name every object inherits',
    text: `{${FINE},"constructor":1}`,
    faults: ['invalid /constructor: unknown field "constructor".'],
  },
  {
    what: 'a name that needs escaping',
    text: `{${FINE},"a/b~c\\n":1}`,
    faults: ['invalid /a~1b~0c\n: unknown field "a/b~c\\n".'],
  },
  { what: 'a field called 0', text: `{${FINE},"0":1}`, faults: ['invalid /0: unknown field "0".'] },
  {
    what: 'a field called 0 further in',
    text: `{${FINE},"parameters":{"size":"256x256","0":[1]}}`,
    faults: ['invalid /parameters/0: unknown field "parameters.0".'],
  },
  { what: 'the first of a list', text: `{${FINE},"ids":["0"]}`, faults: ['invalid /ids/0: ids[0] must be a UUID.'] },
  {
    what: 'a known name that needs escaping',
    text: `{${FINE},"parameters":{"size":"256x256","a/b~c":0}}`,
    faults: ['invalid /parameters/a~1b~0c: parameters.a/b~c must be true or false.'],
  },
  { what: 'an array', text: '[]', faults: ['invalid : the value must be an object.'] },
  { what: 'null', text: 'null', faults: ['invalid : the value must be an object.'] },
  {
    what: 'nothing required',
    text: '{}',
    faults: ['required /model_key: model_key is required.', 'required /prompt: prompt is required.'],
  },
  {
    what: 'an empty text',
    text: '{"model_key":"m","prompt":""}',
    faults: ['invalid /prompt: prompt must not be empty.'],
  },
  {
    what: 'null for a text',
    text: '{"model_key":null,"prompt":"p"}',
    faults: ['invalid /model_key: model_key must be a string.'],
  },
  {
    what: 'nine code points',
    text: '{"model_key":"m","prompt":"123456789"}',
    faults: ['invalid /prompt: prompt must be at most 8 characters.'],
  },
  { what: 'eight astral code points', text: '{"model_key":"m","prompt":"😀😀😀😀😀😀😀😀"}', faults: [] },
  {
    what: 'nine astral code points',
    text: '{"model_key":"m","prompt":"😀😀😀😀😀😀😀😀😀"}',
    faults: ['invalid /prompt: prompt must be at most 8 characters.'],
  },
  {
    what: 'a value not listed',
    text: `{${FINE},"parameters":{"size":"1x1"}}`,
    faults: ['invalid /parameters/size: parameters.size must be one of 256x256, 512x512.'],
  },
  {
    what: 'a listed value of another type',
    text: `{${FINE},"parameters":{"size":256}}`,
    faults: ['invalid /parameters/size: parameters.size must be one of 256x256, 512x512.'],
  },
  {
    what: 'a fraction',
    text: `{${FINE},"parameters":{"size":"256x256","count":1.5}}`,
    faults: ['invalid /parameters/count: parameters.count must be an integer.'],
  },
  {
    what: 'a number past every number',
    text: `{${FINE},"parameters":{"size":"256x256","count":1e400}}`,
    faults: ['invalid /parameters/count: parameters.count must be an integer.'],
  },
  {
    what: 'too large a number',
    text: `{${FINE},"parameters":{"size":"256x256","count":5}}`,
    faults: ['invalid /parameters/count: parameters.count must be at most 4.'],
  },
  {
    what: 'a trailing newline',
    text: `{${FINE},"trace":"a\\n"}`,
    faults: ['invalid /trace: trace must match the pattern ^[A-Za-z0-9._:-]+$.'],
  },
  { what: 'an upper-case UUID', text: `{${FINE},"ids":["${ID}"]}`, faults: [] },
  {
    what: 'a UUID in braces',
    text: `{${FINE},"ids":["${ID}","{${ID}}"]}`,
    faults: ['invalid /ids/1: ids[1] must be a UUID.'],
  },
  {
    what: 'a UUID with a newline after it',
    text: `{${FINE},"ids":["${ID}\\n"]}`,
    faults: ['invalid /ids/0: ids[0] must be a UUID.'],
  },
  {
    what: 'too many items',
    text: `{${FINE},"ids":["${ID}","${ID.toLowerCase()}","${ID.replace('A', 'B')}"]}`,
    faults: ['invalid /ids: ids must have at most 2 items.'],
  },
  {
    what: 'an item twice',
    text: `{${FINE},"ids":["${ID}","${ID}"]}`,
    faults: ['invalid /ids: ids must not contain duplicate items.'],
  },
  {
    what: 'an object twice, its members in another order',
    text: `{${FINE},"things":[{"b":[{"d":1,"c":2}],"a":1},{"a":1.0,"b":[{"c":2,"d":1}]}]}`,
    faults: ['invalid /things: things must not contain duplicate items.'],
  },
  {
    what: 'items that only look alike',
    text: `{${FINE},"things":[1,"1",true,"true",null,"null",[],{},[[]],[{}],{"a":[]},{"a":{}},["a",1],{"a":1},[["a",1]],{"__proto__":1},{"0":1}]}`,
    faults: [],
  },
  {
    what: 'many faults: missing ones first, then the order of the document, not of the schema',
    text: '{"zzz":1,"trace":" ","parameters":{"count":9,"foo":1},"model_key":""}',
    faults: [
      'required /prompt: prompt is required.',
      'required /parameters/size: parameters.size is required.',
      'invalid /zzz: unknown field "zzz".',
      'invalid /trace: trace must match the pattern ^[A-Za-z0-9._:-]+$.',
      'invalid /parameters/count: parameters.count must be at most 4.',
      'invalid /parameters/foo: unknown field "parameters.foo".',
      'invalid /model_key: model_key must not be empty.',
    ],
  },
  {
    what: 'a conforming value',
    text: `{${FINE},"parameters":{"size":"512x512"},"trace":"a.b:c-d_e","ids":[]}`,
    faults: [],
  },
];

export function jsonSchemasContract(subject: ContractSubject<JsonSchemas>): void {
  contract('JsonSchemas contract', subject, (schemas) => {
    for (const { what, text, faults } of VECTORS) {
      it(`${faults.length === 0 ? 'accepts' : 'finds the faults of'} ${what}`, () => {
        const found = schemas().check(REQUEST, JSON.parse(text) as Json).faults;
        expect(found.map((fault) => `${fault.kind} ${fault.pointer}: ${fault.message}`)).to.deep.equal(faults);
      });
    }

    it('names and orders faults by where the value lies in what was sent', () => {
      const { faults } = schemas().check(REQUEST, { zzz: 1, prompt: '' }, '/parameters');
      expect(faults.map((fault) => `${fault.kind} ${fault.pointer}: ${fault.message}`)).to.deep.equal([
        'required /parameters/model_key: parameters.model_key is required.',
        'invalid /parameters/zzz: unknown field "parameters.zzz".',
        'invalid /parameters/prompt: parameters.prompt must not be empty.',
      ]);
    });

    it('names each field as it is written, unlike its pointer', () => {
      const schema: JsonObject = {
        type: 'object',
        additionalProperties: false,
        properties: { list: { type: 'array', items: REQUEST } },
      };
      const { faults } = schemas().check(
        schema,
        { '0': 1, 'list': [{ 'model_key': 'm', 'prompt': 'p', '7': 1, 'ids': ['x'] }, 3] },
        '/parameters',
      );
      expect(faults.map(({ pointer, field }) => [pointer, field])).to.deep.equal([
        ['/parameters/0', 'parameters.0'],
        ['/parameters/list/0/7', 'parameters.list[0].7'],
        ['/parameters/list/0/ids/0', 'parameters.list[0].ids[0]'],
        ['/parameters/list/1', 'parameters.list[1]'],
      ]);
    });

    it('never lets a member called __proto__ reach a prototype', () => {
      const open: JsonObject = {
        type: 'object',
        properties: { inner: { type: 'object', properties: { count: { default: 1 } } } },
      };
      const value = JSON.parse('{"__proto__":{"admin":true},"inner":{"__proto__":{"count":7}}}') as JsonObject;
      const { faults, withDefaults } = schemas().check(open, value);
      expect(faults).to.deep.equal([]);
      expect(({} as { admin?: boolean }).admin).to.equal(undefined);
      expect((withDefaults as { admin?: boolean }).admin).to.equal(undefined);
      expect(Object.getPrototypeOf(withDefaults)).to.equal(Object.prototype);
      expect(JSON.stringify(withDefaults)).to.equal(
        '{"__proto__":{"admin":true},"inner":{"__proto__":{"count":7},"count":1}}',
      );
    });

    it('answers a fault, and does not fail, for a value nested very deep', () => {
      let value: Json = 'x';
      for (let depth = 0; depth < 100_000; depth += 1) value = [value];
      expect(schemas().check({ type: 'array' }, value).faults).to.have.length(1);
    });

    it('fills in defaults on a copy, and leaves the value as it is', () => {
      const value = { model_key: 'm', prompt: 'p', parameters: { size: '256x256' } };
      const before = structuredClone(value);
      const { faults, withDefaults } = schemas().check(REQUEST, value);
      expect(faults).to.deep.equal([]);
      expect(withDefaults).to.deep.equal({ ...before, parameters: { size: '256x256', count: 1 } });
      expect(value).to.deep.equal(before);
    });

    it('gives each copy its own defaults', () => {
      const schema: JsonObject = { type: 'object', properties: { tags: { type: 'array', default: [] } } };
      const first = schemas().check(schema, {}).withDefaults as { tags: string[] };
      first.tags.push('mine');
      expect(schemas().check(schema, {}).withDefaults).to.deep.equal({ tags: [] });
    });

    it('does not count a field with a default as missing', () => {
      const schema: JsonObject = {
        type: 'object',
        required: ['n'],
        properties: { n: { type: 'integer', default: 3 } },
      };
      expect(schemas().check(schema, {})).to.deep.equal({ faults: [], withDefaults: { n: 3 } });
    });

    it('reports one fault, not one per branch, when no branch of a choice fits', () => {
      const schema: JsonObject = {
        type: 'object',
        properties: { seed: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
      };
      expect(schemas().check(schema, { seed: 'x' }).faults).to.deep.equal([
        { kind: 'invalid', pointer: '/seed', field: 'seed', message: 'seed does not have any of the allowed forms.' },
      ]);
    });

    it('reports a missing field even if every object inherits it', () => {
      const faults = schemas().check({ type: 'object', required: ['constructor', 'toString'] }, {}).faults;
      expect(faults.map((fault) => fault.message)).to.deep.equal(['constructor is required.', 'toString is required.']);
    });

    it('reports what a condition requires, not that there is one', () => {
      const schema = JSON.parse(
        '{"if":{"properties":{"kind":{"const":"wide"}},"required":["kind"]},"then":{"required":["width"]}}',
      ) as JsonObject;
      expect(
        schemas()
          .check(schema, { kind: 'wide' })
          .faults.map((fault) => fault.message),
      ).to.deep.equal(['width is required.']);
      expect(schemas().check(schema, { kind: 'tall' }).faults).to.deep.equal([]);
    });

    it('distinguishes two schemas() with the same identifier', () => {
      expect(schemas().check({ $id: 'urn:example:same', type: 'string' }, 1).faults).to.have.length(1);
      expect(schemas().check({ $id: 'urn:example:same', type: 'integer' }, 1).faults).to.have.length(0);
    });
  });
}
