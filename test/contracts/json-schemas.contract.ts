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

/** A text that is sent, with its faults as `kind pointer: message`. */
const row = (what: string, text: string, ...faults: readonly string[]) => ({ what, text, faults });

const VECTORS = [
  row('an own __proto__', `{${FINE},"__proto__":{"admin":true}}`, 'invalid /__proto__: unknown field "__proto__".'),
  row(
    'a nested __proto__',
    `{${FINE},"parameters":{"size":"256x256","__proto__":1}}`,
    'invalid /parameters/__proto__: unknown field "parameters.__proto__".',
  ),
  row(
    'a name every object inherits',
    `{${FINE},"constructor":1}`,
    'invalid /constructor: unknown field "constructor".',
  ),
  row('a name that needs escaping', `{${FINE},"a/b~c\\n":1}`, 'invalid /a~1b~0c\n: unknown field "a/b~c\\n".'),
  row('a field called 0', `{${FINE},"0":1}`, 'invalid /0: unknown field "0".'),
  row(
    'a field called 0 further in',
    `{${FINE},"parameters":{"size":"256x256","0":[1]}}`,
    'invalid /parameters/0: unknown field "parameters.0".',
  ),
  row('the first of a list', `{${FINE},"ids":["0"]}`, 'invalid /ids/0: ids[0] must be a UUID.'),
  row(
    'a known name that needs escaping',
    `{${FINE},"parameters":{"size":"256x256","a/b~c":0}}`,
    'invalid /parameters/a~1b~0c: parameters.a/b~c must be true or false.',
  ),
  row('an array', '[]', 'invalid : the value must be an object.'),
  row('null', 'null', 'invalid : the value must be an object.'),
  row('nothing required', '{}', 'required /model_key: model_key is required.', 'required /prompt: prompt is required.'),
  row('an empty text', '{"model_key":"m","prompt":""}', 'invalid /prompt: prompt must not be empty.'),
  row('null for a text', '{"model_key":null,"prompt":"p"}', 'invalid /model_key: model_key must be a string.'),
  row(
    'nine code points',
    '{"model_key":"m","prompt":"123456789"}',
    'invalid /prompt: prompt must be at most 8 characters.',
  ),
  row('eight astral code points', '{"model_key":"m","prompt":"😀😀😀😀😀😀😀😀"}'),
  row(
    'nine astral code points',
    '{"model_key":"m","prompt":"😀😀😀😀😀😀😀😀😀"}',
    'invalid /prompt: prompt must be at most 8 characters.',
  ),
  row(
    'a value not listed',
    `{${FINE},"parameters":{"size":"1x1"}}`,
    'invalid /parameters/size: parameters.size must be one of 256x256, 512x512.',
  ),
  row(
    'a listed value of another type',
    `{${FINE},"parameters":{"size":256}}`,
    'invalid /parameters/size: parameters.size must be one of 256x256, 512x512.',
  ),
  row(
    'a fraction',
    `{${FINE},"parameters":{"size":"256x256","count":1.5}}`,
    'invalid /parameters/count: parameters.count must be an integer.',
  ),
  row(
    'a number past every number',
    `{${FINE},"parameters":{"size":"256x256","count":1e400}}`,
    'invalid /parameters/count: parameters.count must be an integer.',
  ),
  row(
    'too large a number',
    `{${FINE},"parameters":{"size":"256x256","count":5}}`,
    'invalid /parameters/count: parameters.count must be at most 4.',
  ),
  row(
    'a trailing newline',
    `{${FINE},"trace":"a\\n"}`,
    'invalid /trace: trace must match the pattern ^[A-Za-z0-9._:-]+$.',
  ),
  row('an upper-case UUID', `{${FINE},"ids":["${ID}"]}`),
  row('a UUID in braces', `{${FINE},"ids":["${ID}","{${ID}}"]}`, 'invalid /ids/1: ids[1] must be a UUID.'),
  row('a UUID with a newline after it', `{${FINE},"ids":["${ID}\\n"]}`, 'invalid /ids/0: ids[0] must be a UUID.'),
  row(
    'too many items',
    `{${FINE},"ids":["${ID}","${ID.toLowerCase()}","${ID.replace('A', 'B')}"]}`,
    'invalid /ids: ids must have at most 2 items.',
  ),
  row('an item twice', `{${FINE},"ids":["${ID}","${ID}"]}`, 'invalid /ids: ids must not contain duplicate items.'),
  row(
    'an object twice, its members in another order',
    `{${FINE},"things":[{"b":[{"d":1,"c":2}],"a":1},{"a":1.0,"b":[{"c":2,"d":1}]}]}`,
    'invalid /things: things must not contain duplicate items.',
  ),
  row(
    'items that only look alike',
    `{${FINE},"things":[1,"1",true,"true",null,"null",[],{},[[]],[{}],{"a":[]},{"a":{}},["a",1],{"a":1},[["a",1]],{"__proto__":1},{"0":1}]}`,
  ),
  row(
    'many faults: missing ones first, then the order of the document, not of the schema',
    '{"zzz":1,"trace":" ","parameters":{"count":9,"foo":1},"model_key":""}',
    'required /prompt: prompt is required.',
    'required /parameters/size: parameters.size is required.',
    'invalid /zzz: unknown field "zzz".',
    'invalid /trace: trace must match the pattern ^[A-Za-z0-9._:-]+$.',
    'invalid /parameters/count: parameters.count must be at most 4.',
    'invalid /parameters/foo: unknown field "parameters.foo".',
    'invalid /model_key: model_key must not be empty.',
  ),
  row('a conforming value', `{${FINE},"parameters":{"size":"512x512"},"trace":"a.b:c-d_e","ids":[]}`),
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

    it('distinguishes two schemas with the same identifier', () => {
      expect(schemas().check({ $id: 'urn:example:same', type: 'string' }, 1).faults).to.have.length(1);
      expect(schemas().check({ $id: 'urn:example:same', type: 'integer' }, 1).faults).to.have.length(0);
    });
  });
}
