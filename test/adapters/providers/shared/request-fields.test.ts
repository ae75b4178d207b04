/*
 * Goal: a request has the fields that the rules name and no other, with values within their bounds.
 * Method: rules and parameters as an operator and a client would write them; fast-check for parameters of any kind.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import {
  FIELD_RULES_SCHEMA,
  type FieldRules,
  fieldRulesFault,
  fieldsFrom,
  ParameterInvalid,
} from '../../../../adapters/providers/shared/request-fields.js';
import { checkSettings } from '../../../../adapters/providers/shared/settings.js';
import type { Json, JsonObject } from '../../../../core/json.js';

const RULES: FieldRules = {
  output_format: { value: 'png' },
  size: { parameter: 'size', type: 'string', enum: ['512x512', '1024x1024'] },
  style: { parameter: 'look', type: 'string', max_length: 5 },
  code: { parameter: 'code', type: 'string', pattern: 'a|bc' },
  n: { parameter: 'count', type: 'integer', minimum: 1, maximum: 4 },
  guidance: { parameter: 'guidance', type: 'number', minimum: 0, maximum: 1.5 },
  transparent: { parameter: 'transparent', type: 'boolean' },
};

function isTaken(parameters: JsonObject): boolean {
  try {
    fieldsFrom(RULES, parameters);
    return true;
  } catch (error) {
    if (error instanceof ParameterInvalid) return false;
    throw error;
  }
}

describe('fields of a request', () => {
  it('are the constants, and the parameters under the names of the fields', () => {
    expect(fieldsFrom(RULES, {})).to.deep.equal({ output_format: 'png' });
    const parameters = { size: '512x512', look: 'étude', count: 4, guidance: 1.5, transparent: false, other: 'x' };
    expect(fieldsFrom(RULES, parameters)).to.deep.equal({
      output_format: 'png',
      size: '512x512',
      style: 'étude',
      n: 4,
      guidance: 1.5,
      transparent: false,
    });
  });

  const refused: Record<string, JsonObject> = {
    'a value that is not listed': { size: '640x480' },
    'a text that is too long': { look: 'etudes' },
    'a part of a pattern': { code: 'xa' },
    'a text with a line after a pattern': { code: 'a\n' },
    'a number as a text': { count: '1' },
    'a fraction as an integer': { count: 1.5 },
    'a number above the maximum': { count: 5 },
    'a number below the minimum': { guidance: -0.1 },
    'a text as a truth value': { transparent: 'true' },
    'null': { look: null },
    'an object': { look: { toString: 'x' } },
  };
  for (const [what, parameters] of Object.entries(refused)) {
    it(`are refused with ${what}`, () => {
      expect(() => fieldsFrom(RULES, parameters)).to.throw(
        ParameterInvalid,
        'has a value that the provider cannot use.',
      );
    });
  }

  it('never have another name or a value outside of its rule', () => {
    const parameters = fc.dictionary(
      fc.constantFrom('size', 'look', 'code', 'count', 'guidance', 'transparent', 'output_format', '__proto__', 'n'),
      fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
    );
    fc.assert(
      fc.property(parameters, (given) => {
        if (!isTaken(given)) return;
        const { output_format: format, ...rest } = fieldsFrom(RULES, given);
        expect(format).to.equal('png');
        for (const [field, value] of Object.entries(rest)) {
          expect(Object.keys(RULES)).to.include(field);
          expect(value).to.equal(given[RULES[field]?.parameter ?? '']);
          expect(['string', 'number', 'boolean']).to.include(typeof value);
        }
      }),
    );
  });

  it('are what the server calls the values of a parameter, and no other value is sent', () => {
    const rules: FieldRules = {
      image_size: { parameter: 'size', values: { '512x512': 'square' } },
      width: { parameter: 'size', values: { '512x512': 512 } },
      duration: { parameter: 'seconds', values: { '5': '5s' } },
    };
    expect(fieldRulesFault(rules)).to.equal(undefined);
    expect(checkSettings(FIELD_RULES_SCHEMA, rules as unknown as JsonObject)).to.have.property('settings');
    const sent = fieldsFrom(rules, { size: '512x512', seconds: 5 });
    expect(sent).to.deep.equal({ image_size: 'square', width: 512, duration: '5s' });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.constantFrom('constructor', '__proto__')), (given) => {
        if (given !== '5' && given !== 5)
          expect(() => fieldsFrom(rules, { seconds: given as Json })).to.throw(ParameterInvalid);
      }),
    );
  });

  it('have rules that can be used', () => {
    expect(fieldRulesFault(RULES)).to.equal(undefined);
    expect(checkSettings(FIELD_RULES_SCHEMA, RULES as unknown as JsonObject)).to.have.property('settings');
  });

  const faults: readonly (readonly [string, FieldRules[string]])[] = [
    ['fields.x needs either a value or a parameter.', {}],
    ['fields.x needs either a value or a parameter.', { value: 1, parameter: 'x' }],
    ['fields.x has a value, and so no other key.', { value: 1, type: 'integer' }],
    ['fields.x needs values, or a type, one of string, integer, number, boolean.', { parameter: 'x' }],
    ['fields.x has a value, and so no other key.', { value: 1, values: { a: 1 } }],
    ['fields.x has values, and so no type and no bounds.', { parameter: 'x', values: { a: 1 }, type: 'string' }],
    ['fields.x needs an enum, a pattern or a max_length.', { parameter: 'x', type: 'string' }],
    [
      'fields.x needs an enum, or a minimum and a maximum that is not below it.',
      { parameter: 'x', type: 'number', minimum: 1 },
    ],
    [
      'fields.x needs an enum, or a minimum and a maximum that is not below it.',
      { parameter: 'x', type: 'integer', minimum: 2, maximum: 1 },
    ],
    [
      'fields.x has minimum, which is none of a field of type string.',
      { parameter: 'x', type: 'string', max_length: 1, minimum: 1 },
    ],
    [
      'fields.x has a pattern that is no regular expression.',
      { parameter: 'x', type: 'string', pattern: '(', enum: ['a'] },
    ],
    [
      'fields.x has a value in enum that its other keys do not allow.',
      { parameter: 'x', type: 'integer', enum: [1, 'a'] },
    ],
  ];
  for (const [sentence, rule] of faults) {
    it(`are refused at the start with ${JSON.stringify(rule)}`, () => {
      expect(fieldRulesFault({ x: rule })).to.equal(sentence);
    });
  }
});
