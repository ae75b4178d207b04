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
