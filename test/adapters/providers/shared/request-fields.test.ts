import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { chosenSeed, drawnSeed } from '../../../../adapters/providers/shared/drawn-seed.js';
import {
  isOfOperator,
  operatorFieldsFault,
  promptFieldFault,
} from '../../../../adapters/providers/shared/operator-fields.js';
import { valuesAt } from '../../../../adapters/providers/shared/pointer-values.js';
import {
  FIELD_RULES_SCHEMA,
  type FieldRule,
  type FieldRules,
  fieldRulesFault,
  fieldsFrom,
  ParameterInvalid,
} from '../../../../adapters/providers/shared/request-fields.js';
import { checkSettings } from '../../../../adapters/providers/shared/settings.js';
import { AjvJsonSchemas } from '../../../../adapters/system/ajv-json-schemas.js';
import { escapePointerToken, type Json, type JsonObject } from '../../../../core/json.js';

/*
 * Goal: a request has the fields that the rules name and no other, with values within their bounds.
 * Method: rules and parameters as an operator and a client would write them; fast-check for parameters of any kind.
 */

const RULES: FieldRules = {
  output_format: { value: 'png' },
  size: { parameter: 'size', type: 'string', enum: ['512x512', '1024x1024'] },
  style: { parameter: 'look', type: 'string', max_length: 5 },
  code: { parameter: 'code', type: 'string', pattern: 'a|bc' },
  n: { parameter: 'count', type: 'integer', minimum: 1, maximum: 4 },
  guidance: { parameter: 'guidance', type: 'number', minimum: 0, maximum: 1.5 },
  transparent: { parameter: 'transparent', type: 'boolean' },
};

/** A list in a list, of so many levels. */
function nested(levels: number): Json {
  return levels === 0 ? 'x' : [nested(levels - 1)];
}

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

  it('are constants of any JSON within their bounds', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const rules: FieldRules = { loras: { value: value as Json } };
        if (JSON.stringify(value).length > 4_000) return;
        expect(checkSettings(FIELD_RULES_SCHEMA, rules as unknown as JsonObject)).to.have.property('settings');
        expect(fieldRulesFault(rules)).to.equal(undefined);
        expect(fieldsFrom(rules, { loras: 'of a client' })).to.deep.equal({ loras: value });
      }),
    );
    expect(fieldRulesFault({ x: { value: nested(8) }, y: { value: 'a'.repeat(16 * 1024 - 2) } })).to.equal(undefined);
  });

  it('are the sides of a size as an object, as a text and one by one', () => {
    const rules: FieldRules = {
      image_size: { parameter: 'size', size: 'object', minimum: 64, maximum: 2_048, multiple_of: 8 },
      size: { parameter: 'size', size: '{w}x{h}' },
      resolution: { parameter: 'size', size: '{h}*{w} px, {w} wide' },
      width: { parameter: 'size', size: 'width' },
      height: { parameter: 'size', size: 'height', maximum: 512 },
    };
    expect(fieldRulesFault(rules)).to.equal(undefined);
    expect(checkSettings(FIELD_RULES_SCHEMA, rules as unknown as JsonObject)).to.have.property('settings');
    expect(fieldsFrom(rules, { size: '1024x512' })).to.deep.equal({
      image_size: { width: 1_024, height: 512 },
      size: '1024x512',
      resolution: '512*1024 px, 1024 wide',
      width: 1_024,
      height: 512,
    });
    const values = ['auto', '1024', '0x512', '512x0512', '512X512', '512x512\n', ' 512x512', '100000x8', 1_024, null];
    for (const size of [...values, ['512x512'], { width: 512, height: 512 }] as Json[])
      expect(() => fieldsFrom(rules, { size }), JSON.stringify(size)).to.throw(ParameterInvalid);
  });

  it('have sides within the bounds of their rule for each size that is taken', () => {
    const form = fc.constantFrom('object', 'width', 'height', '{w}x{h}', '{w}*{h}');
    const side = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(128, 256, 99_999, 100_000));
    const limit = fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined });
    fc.assert(
      fc.property(form, side, side, limit, limit, fc.constantFrom(1, 8, 64), (size, w, h, minimum, maximum, step) => {
        const rule: FieldRule = {
          parameter: 'size',
          size,
          multiple_of: step,
          ...(minimum === undefined ? {} : { minimum }),
          ...(maximum === undefined ? {} : { maximum }),
        };
        if (fieldRulesFault({ x: rule }) !== undefined) return;
        const bound = size === 'width' ? [w] : size === 'height' ? [h] : [w, h];
        const isAllowed =
          bound.every((px) => px >= (minimum ?? 1) && px <= (maximum ?? 99_999) && px % step === 0) &&
          [w, h].every((px) => px > 0 && px < 100_000);
        if (!isAllowed) {
          expect(() => fieldsFrom({ x: rule }, { size: `${w}x${h}` })).to.throw(ParameterInvalid);
          return;
        }
        const { x } = fieldsFrom({ x: rule }, { size: `${w}x${h}` });
        const text = (between: string) => `${w}${between}${h}`;
        expect(x).to.deep.equal(
          { 'object': { width: w, height: h }, 'width': w, 'height': h, '{w}x{h}': text('x'), '{w}*{h}': text('*') }[
            size
          ],
        );
      }),
    );
  });

  it('are numbers times a rate plus an offset, rounded for integers, and then within bounds', () => {
    const frames: FieldRule = { parameter: 'seconds', type: 'integer', times: 24, plus: 1, minimum: 25, maximum: 241 };
    const sent = (seconds: Json) => fieldsFrom({ frames }, { seconds })['frames'];
    expect(fieldRulesFault({ frames })).to.equal(undefined);
    expect([1, 5, 10, 2.5, 1.02].map(sent)).to.deep.equal([25, 121, 241, 61, 25]);
    for (const seconds of [0.9, 10.1, '5', null, true, 1e308])
      expect(() => sent(seconds), JSON.stringify(seconds)).to.throw(ParameterInvalid);
    const share: FieldRule = { parameter: 'percent', type: 'number', times: 0.1, minimum: 0, maximum: 3 };
    expect(fieldsFrom({ share }, { percent: 30 })).to.deep.equal({ share: 3 });
    const number = fc.double({ noNaN: true, min: -1e6, max: 1e6 });
    fc.assert(
      fc.property(
        fc.constantFrom('integer', 'number'),
        number,
        number,
        number,
        number,
        fc.nat({ max: 1_000 }),
        (type, value, times, plus, minimum, more) => {
          const rule: FieldRule = { parameter: 'p', type, times, plus, minimum, maximum: minimum + more };
          if (fieldRulesFault({ x: rule }) !== undefined) return;
          const exact = value * times + plus;
          const nearest = type === 'integer' ? Math.round(exact) : exact;
          let x: Json | undefined;
          try {
            x = fieldsFrom({ x: rule }, { p: value })['x'];
          } catch (error) {
            expect(error).to.be.instanceOf(ParameterInvalid);
            expect(nearest < minimum + 1e-6 || nearest > minimum + more - 1e-6).to.equal(true);
            return;
          }
          expect(x).to.be.within(minimum, minimum + more);
          expect(Math.abs(Number(x) - exact)).to.be.at.most(type === 'integer' ? 0.5 + 1e-6 : 1e-6);
          if (type === 'integer') expect(Number.isSafeInteger(x)).to.equal(true);
        },
      ),
    );
  });

  it('have a number that is drawn for a task without one, within the bounds of all its fields and of the schema', () => {
    const rules: FieldRules = {
      seed: { parameter: 'seed', type: 'integer', minimum: 0, maximum: 1_000, draw: true },
      noise: { parameter: 'seed', type: 'integer', times: 2, plus: 1, minimum: 21, maximum: 100_001 },
      steps: { parameter: 'steps', type: 'integer', minimum: 1, maximum: 4 },
    };
    const inputSchema: JsonObject = { type: 'object', properties: { seed: { type: 'integer', maximum: 40 } } };
    const sent = (token: string, parameters: JsonObject = {}, schema: JsonObject | undefined = inputSchema) =>
      fieldsFrom(rules, parameters, { token, ...(schema === undefined ? {} : { inputSchema: schema }) });
    const tokens = Array.from({ length: 50 }, () => randomUUID());
    const seeds = tokens.map((token) => {
      const { seed, noise, ...others } = sent(token);
      expect(others).to.deep.equal({});
      expect(seed).to.be.within(10, 40);
      expect(noise).to.equal(Number(seed) * 2 + 1);
      expect(sent(token), 'the same task').to.deep.equal({ seed, noise });
      return seed;
    });
    expect(new Set(seeds).size, 'other tasks').to.be.greaterThan(15);
    expect(Number(sent(tokens[0]!, {}, { type: 'object' })['seed'])).to.be.within(10, 1_000);
    expect(sent(tokens[0]!, { seed: 12 })).to.deep.equal({ seed: 12, noise: 25 });
    expect(fieldsFrom(rules, {}), 'no task').to.deep.equal({});
    expect(() => sent(tokens[0]!, {}, { properties: { seed: { type: 'integer', maximum: 9 } } })).to.throw(
      ParameterInvalid,
      'The parameter seed needs a value.',
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
    ['fields.x needs values, a size, or a type, one of string, integer, number, boolean.', { parameter: 'x' }],
    ['fields.x has a value, and so no other key.', { value: 1, values: { a: 1 } }],
    [
      'fields.x has values, and so no type, no size and no bounds.',
      { parameter: 'x', values: { a: 1 }, type: 'string' },
    ],
    ['fields.x has a value, and so no other key.', { value: 1, draw: true }],
    ['fields.x has draw, and so needs the type integer.', { parameter: 'x', draw: true }],
    ['fields.x has draw, and so needs the type integer.', { parameter: 'x', values: { a: 1 }, draw: true }],
    ['fields.x has draw, and so needs the type integer.', { parameter: 'x', size: 'object', draw: true }],
    [
      'fields.x has draw, and so needs the type integer.',
      { parameter: 'x', type: 'number', minimum: 0, maximum: 1, draw: true },
    ],
    [
      'fields.x has draw, and so needs a minimum and a maximum in place of an enum.',
      { parameter: 'x', type: 'integer', enum: [1, 2], draw: true },
    ],
    [
      'fields.x needs an enum, or a minimum and a maximum that is not below it.',
      { parameter: 'x', type: 'integer', draw: true },
    ],
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
    ['fields.x has a value, and so no other key.', { value: { w: 1 }, size: 'object' }],
    ['fields.x has a value of more than 8 levels.', { value: nested(9) }],
    ['fields.x has a value of more than 16384 bytes.', { value: ['é'.repeat(8_192)] }],
    [
      'fields.x has values, and so no type, no size and no bounds.',
      { parameter: 'x', values: { a: 1 }, size: 'width' },
    ],
    ['fields.x has a size, and so no type.', { parameter: 'x', size: 'width', type: 'integer' }],
    ...['{w}', 'width x height', '{W}x{H}', 'Object'].map((size): readonly [string, FieldRule] => [
      'fields.x has a size that is not object, width, height, or a text with {w} and {h}.',
      { parameter: 'x', size },
    ]),
    ['fields.x has times, which does not belong to a size.', { parameter: 'x', size: 'width', times: 2 }],
    ['fields.x has a minimum above its maximum.', { parameter: 'x', size: 'object', minimum: 2, maximum: 1 }],
    [
      'fields.x has no side within its bounds that is a multiple of multiple_of.',
      { parameter: 'x', size: 'object', minimum: 65, maximum: 127, multiple_of: 64 },
    ],
    [
      'fields.x has multiple_of, which is none of a field of type integer.',
      { parameter: 'x', type: 'integer', minimum: 1, maximum: 9, multiple_of: 2 },
    ],
    [
      'fields.x has plus, which is none of a field of type string.',
      { parameter: 'x', type: 'string', max_length: 1, plus: 1 },
    ],
    [
      'fields.x has times 0, which would send one number for all values; give it a value instead.',
      { parameter: 'x', type: 'number', minimum: 0, maximum: 1, times: 0 },
    ],
    [
      'fields.x has an enum, and so neither times nor plus; use values.',
      { parameter: 'x', type: 'integer', enum: [1, 2], plus: 1 },
    ],
    [
      'fields.x needs an enum, or a minimum and a maximum that is not below it.',
      { parameter: 'x', type: 'integer', times: 24, plus: 1, maximum: 241 },
    ],
  ];
  for (const [sentence, rule] of faults) {
    it(`are refused at the start with ${JSON.stringify(rule)}`, () => {
      expect(fieldRulesFault({ x: rule })).to.equal(sentence);
    });
  }
});

/*
 * Goal: users never write into a field that is the operator's, however its name is written, and all other fields can be theirs.
 * Method: names of fields of real servers and models, each with every kind of rule.
 */

const OF_OPERATOR = [
  'path output_path model_paths lora_path loraPath filepath file file_name filename input-file url image_url',
  'image_urls imageUrl image.url imageURL IMAGE_URL baseurl uri hf_uri host hostname callback callback_id',
  'webhook webhook_events_filter webhookUrl extra extra_args extra_lora extraBody diffusers_kwargs',
  'attention_backend_override device model model_name base_model modelId repo repo_id tar weights',
  'replicate_weights lora loras hf_lora lora_name checkpoint ckpt embedding embeddings safetensors image',
  'images image[] ref_images mask mask_image video source_video audio start_frame api_key apiKey apikey token',
  'hf_api_token civitai_token secret password credentials',
].flatMap((names) => names.split(' '));

const OF_USERS = [
  'prompt text caption negative_prompt negativePrompt image_prompt video_prompt prompt_2 style',
  'style_preference aspect_ratio image_size output_format video_length sampler_name go_fast scheduler quality',
  'background seed language target ghost profile tokenizer remodel',
].flatMap((names) => names.split(' '));

const FREE: readonly FieldRule[] = [
  { parameter: 'x', type: 'string', max_length: 100 },
  { parameter: 'x', type: 'string', pattern: '[a-z]+' },
];
const CHOSEN: readonly FieldRule[] = [
  { value: 'mine' },
  { parameter: 'x', type: 'string', enum: ['mine'] },
  { parameter: 'x', values: { a: 'mine' } },
  { parameter: 'x', type: 'integer', minimum: 1, maximum: 4 },
  { parameter: 'x', type: 'boolean' },
  { parameter: 'x', size: 'object' },
  { parameter: 'x', size: '{w}x{h}' },
  { value: [{ path: 'mine', scale: 1 }] },
];

describe('fields that are the operator’s', () => {
  it('take no text of users, by a parameter or as a prompt', () => {
    const why = 'users must not write into a field for places, addresses, files, keys or options.';
    for (const name of OF_OPERATOR) {
      for (const rule of FREE)
        expect(operatorFieldsFault({ style: FREE[0]!, [name]: rule }), name).to.equal(
          `fields.${name} needs an enum, values or a value: ${why}`,
        );
      expect(operatorFieldsFault({ [name]: FREE[0]! }, 'reference_fields')).to.match(/^reference_fields\./);
      expect(promptFieldFault('prompt_field', name), name).to.equal(`prompt_field must not be ${name}: ${why}`);
    }
  });

  it('take what the operator lists, numbers and truth values', () => {
    for (const name of OF_OPERATOR)
      for (const rule of CHOSEN) expect(operatorFieldsFault({ [name]: rule }), name).to.equal(undefined);
  });

  it('are none that only sounds like one', () => {
    for (const name of OF_USERS) {
      for (const rule of FREE) expect(operatorFieldsFault({ [name]: rule }), name).to.equal(undefined);
      expect(promptFieldFault('prompt_field', name), name).to.equal(undefined);
    }
    expect(promptFieldFault('negative_prompt_field', undefined)).to.equal(undefined);
  });

  it('include what is below places and options, but not what is below a model or a mask', () => {
    expect(isOfOperator('extra_args', 'text')).to.equal(true);
    expect(isOfOperator('webhook', 'text')).to.equal(true);
    expect(isOfOperator('model_inputs', 'prompt')).to.equal(false);
    expect(isOfOperator('mask', 'text')).to.equal(false);
  });
});

/*
 * Goal: a seed that the service draws is a whole number which a client could have sent, and differs from task to task.
 * Method: schemas of many forms, arbitrary bounds and tokens; each seed is checked as a request of a client is.
 */

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

/*
 * Goal: a pointer leads to the values that its document has at that place, in order, and nowhere else.
 * Method: pointers to every leaf of random documents, and documents with what an answer may hold.
 */

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

  it('lead nowhere from a scalar, and never to an inherited member', () => {
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
