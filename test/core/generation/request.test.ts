// Goal: the body of create and estimate is validated as promised: lengths in code points, well-formed text, one entry
// per upload.
// Method: cases at the edges of every rule, each with the expected code and pointer.
import { expect } from 'chai';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { ServiceError } from '../../../core/errors.js';
import { NOT_BLANK } from '../../../core/fields.js';
import { readGenerationRequest } from '../../../core/generation/quote.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { catalogOf } from '../../fixtures/catalog-of.js';
import { imageModel } from '../../fixtures/core-models.js';

const jsonSchemas = new AjvJsonSchemas();
const id = (digit: number) => `01900000-0000-7000-8000-00000000000${digit}`;
const NUL = String.fromCharCode(0);
const body = (changes: JsonObject = {}): JsonObject => ({
  model_key: 'm',
  operation: 'image_generation',
  prompt: 'p',
  ...changes,
});

function refusalOf(value: Json): { readonly code: string; readonly pointer: string | undefined } | undefined {
  try {
    readGenerationRequest({ jsonSchemas }, value);
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { code: error.code, pointer: error.details.pointer };
  }
}

const ACCEPTED: readonly (readonly [string, JsonObject])[] = [
  ['a prompt of 8,000 code points', { prompt: 'x'.repeat(8_000) }],
  ['a prompt of 8,000 astral code points', { prompt: '🏠'.repeat(8_000) }],
  ['a prompt of a byte order mark, which is no white space', { prompt: '\ufeff' }],
  ['a prompt of a zero-width space, which is none either', { prompt: '\u200b' }],
  ['a prompt with white space around it', { prompt: ' \u3000x\n' }],
  ['an empty negative prompt', { negative_prompt: '' }],
  ['a negative prompt of 8,000 code points', { negative_prompt: '🏠'.repeat(8_000) }],
  ['right-to-left marks and line breaks', { prompt: '\u200f\u202eabc\r\n\t' }],
  ['eight references', { reference_upload_ids: [0, 1, 2, 3, 4, 5, 6, 7].map(id) }],
  ['a trace id of 128 characters', { client_trace_id: 'aZ09._:-'.repeat(16) }],
  ['null where a field may be left out', { client_trace_id: null, parameters: null }],
  ['parameters of any shape', { parameters: { a: [1, { b: null }] } }],
];

const REFUSED: readonly (readonly [string, Json, string, string])[] = [
  ['no model_key', { operation: 'image_generation', prompt: 'p' }, 'FIELD_REQUIRED', '/model_key'],
  ['nothing at all', {}, 'FIELD_REQUIRED', '/model_key'],
  ['a missing prompt before an invalid operation', { model_key: 'm', operation: 'x' }, 'FIELD_REQUIRED', '/prompt'],
  ['an array', [], 'FIELD_INVALID', ''],
  ['null', null, 'FIELD_INVALID', ''],
  ['an empty prompt', body({ prompt: '' }), 'FIELD_INVALID', '/prompt'],
  ['a prompt of blanks', body({ prompt: '   ' }), 'FIELD_INVALID', '/prompt'],
  [
    'a prompt of every kind of white space',
    body({ prompt: '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000' }),
    'FIELD_INVALID',
    '/prompt',
  ],
  ['a prompt of 8,001 code points', body({ prompt: 'x'.repeat(8_001) }), 'FIELD_INVALID', '/prompt'],
  ['a prompt of 8,001 astral code points', body({ prompt: '🏠'.repeat(8_001) }), 'FIELD_INVALID', '/prompt'],
  [
    'a negative prompt of 8,001 code points',
    body({ negative_prompt: 'x'.repeat(8_001) }),
    'FIELD_INVALID',
    '/negative_prompt',
  ],
  ['a prompt with NUL', body({ prompt: `a${NUL}b` }), 'FIELD_INVALID', '/prompt'],
  ['a prompt with a lone high surrogate', body({ prompt: 'a\ud83c' }), 'FIELD_INVALID', '/prompt'],
  ['a prompt with a lone low surrogate', body({ prompt: '\udfe0a' }), 'FIELD_INVALID', '/prompt'],
  [
    'a parameter with NUL',
    body({ parameters: { style: { deep: [`a${NUL}`] } } }),
    'FIELD_INVALID',
    '/parameters/style/deep/0',
  ],
  ['a parameter name with a lone surrogate', body({ parameters: { '\ud800': 1 } }), 'FIELD_INVALID', '/parameters'],
  [
    'a parameter name with NUL',
    body({ parameters: { deep: { [`a${NUL}`]: 1 } } }),
    'FIELD_INVALID',
    '/parameters/deep',
  ],
  ['a number that is not finite', body({ parameters: { steps: Infinity } }), 'FIELD_INVALID', '/parameters/steps'],
  ['an unknown field', body({ webhook_url: 'https://example.com' }), 'FIELD_INVALID', '/webhook_url'],
  [
    'a field called __proto__',
    JSON.parse('{"model_key":"m","operation":"image_generation","prompt":"p","__proto__":{}}') as Json,
    'FIELD_INVALID',
    '/__proto__',
  ],
  ['an unknown operation', body({ operation: 'audio_generation' }), 'FIELD_INVALID', '/operation'],
  ['parameters that are a list', body({ parameters: [] }), 'FIELD_INVALID', '/parameters'],
  ['null where a field is required', body({ prompt: null }), 'FIELD_REQUIRED', '/prompt'],
  [
    'nine references',
    body({ reference_upload_ids: [0, 1, 2, 3, 4, 5, 6, 7, 8].map(id) }),
    'FIELD_INVALID',
    '/reference_upload_ids',
  ],
  [
    'a reference twice',
    body({ reference_upload_ids: [id(1), id(2), id(1)] }),
    'FIELD_INVALID',
    '/reference_upload_ids/2',
  ],
  [
    'a reference twice, in two cases',
    body({ reference_upload_ids: ['0190000A-0000-7000-8000-000000000001', '0190000a-0000-7000-8000-000000000001'] }),
    'FIELD_INVALID',
    '/reference_upload_ids/1',
  ],
  ['a reference in braces', body({ reference_upload_ids: [`{${id(1)}}`] }), 'FIELD_INVALID', '/reference_upload_ids/0'],
  ['a reference that is no id', body({ reference_upload_ids: ['x'] }), 'FIELD_INVALID', '/reference_upload_ids/0'],
  ['an empty trace id', body({ client_trace_id: '' }), 'FIELD_INVALID', '/client_trace_id'],
  ['a trace id of 129 characters', body({ client_trace_id: 'a'.repeat(129) }), 'FIELD_INVALID', '/client_trace_id'],
  ['a trace id with a trailing newline', body({ client_trace_id: 'a\n' }), 'FIELD_INVALID', '/client_trace_id'],
  ['a trace id with a space', body({ client_trace_id: 'a b' }), 'FIELD_INVALID', '/client_trace_id'],
];

describe('readGenerationRequest', () => {
  for (const [name, changes] of ACCEPTED)
    it(`accepts ${name}`, () => expect(refusalOf(body(changes))).to.equal(undefined));
  for (const [name, value, code, pointer] of REFUSED)
    it(`refuses ${name}`, () => expect(refusalOf(value)).to.deep.equal({ code, pointer }));

  it('reads upper-case ids like lower-case ones', () => {
    expect(
      readGenerationRequest({ jsonSchemas }, body({ reference_upload_ids: ['0190000A-BCDE-7000-8000-000000000001'] }))
        .referenceUploadIds,
    ).to.deep.equal(['0190000a-bcde-7000-8000-000000000001']);
  });

  it('refuses excessive nesting, without running out of stack', () => {
    let deep: Json = 1;
    for (let level = 0; level < 20_000; level += 1) deep = { a: deep };
    expect(refusalOf(body({ parameters: deep as JsonObject }))).to.have.property('code', 'FIELD_INVALID');
  });

  it('treats as white space what Unicode does', () => {
    const notBlank = new RegExp(NOT_BLANK, 'u');
    const isWrong = (point: number): boolean =>
      notBlank.test(String.fromCodePoint(point)) === /\p{White_Space}/u.test(String.fromCodePoint(point));
    expect(Array.from({ length: 0x110000 }, (_, point) => point).filter(isWrong)).to.deep.equal([]);
  });

  it('says that an unknown field belongs in parameters, if the model has such a parameter', () => {
    const model = imageModel({
      inputSchema: { type: 'object', additionalProperties: false, properties: { 'size': {}, 'a/b': {}, 'prompt': {} } },
    });
    const catalog = catalogOf(() => [model]);
    const says = (sent: JsonObject): unknown => {
      try {
        return readGenerationRequest({ jsonSchemas, catalog }, sent);
      } catch (error) {
        const { code, message, details } = error as ServiceError;
        return [code, details.pointer, message];
      }
    };
    const sent = body({ model_key: model.modelKey });
    expect(says({ ...sent, size: 1 })).to.deep.equal([
      'FIELD_INVALID',
      '/size',
      'size is not a field; it is a parameter of plain-image: send it in parameters.',
    ]);
    expect(says({ ...sent, 'a/b': 1 })).to.deep.equal([
      'FIELD_INVALID',
      '/a~1b',
      'a/b is not a field; it is a parameter of plain-image: send it in parameters.',
    ]);
    expect(says({ ...sent, toString: 1 })).to.deep.equal(['FIELD_INVALID', '/toString', 'unknown field "toString".']);
    expect(says({ ...sent, model_key: 'x', size: 1 })).to.deep.equal([
      'FIELD_INVALID',
      '/size',
      'unknown field "size".',
    ]);
    expect(says({ ...sent, prompt: '' }), 'a field of that name is one').to.deep.equal([
      'FIELD_INVALID',
      '/prompt',
      'prompt must not be empty.',
    ]);
    expect(says({ size: 1, model_key: model.modelKey })).to.deep.equal([
      'FIELD_REQUIRED',
      '/operation',
      'operation is required.',
    ]);
  });
});
