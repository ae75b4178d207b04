import type { ErrorCode } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { type Vector, CLIP, once, PICTURE, vector } from './vector.js';

type Row = readonly [name: string, change: JsonObject, code: ErrorCode | 'OK', says?: string];

const NINE_IDS = Array.from({ length: 9 }, (_, index) => `00000000-0000-7000-8000-00000000000${index}`);
const NULLS = { negative_prompt: null, reference_upload_ids: null, client_trace_id: null };
/** A picture whose style is a list, with so many names and values in the whole body. */
const holding = (count: number): JsonObject => ({
  parameters: { size: '96x64', style: Array.from({ length: count - 13 }, () => 1) },
});
const astral = (count: number) => '𝒟'.repeat(count);

const ROWS: readonly Row[] = [
  ['an unknown field', { provider: 'x' }, 'FIELD_INVALID', 'unknown field "provider".'],
  [
    'a parameter beside the others',
    { size: '96x64' },
    'FIELD_INVALID',
    'size is not a field; it is a parameter of picture: send it in parameters.',
  ],
  ['a provider URL in the body', { endpoint: 'https://example.com' }, 'FIELD_INVALID', 'endpoint'],
  [
    'an unknown parameter',
    { parameters: { size: '96x64', url: 'x' } },
    'FIELD_INVALID',
    'unknown field "parameters.url".',
  ],
  [
    'an unknown parameter further in',
    { parameters: { size: '96x64', tuning: { bucket: 'x' } } },
    'FIELD_INVALID',
    'parameters.tuning.bucket',
  ],
  ['a parameter called 0', { parameters: { size: '96x64', 0: 1 } }, 'FIELD_INVALID', 'unknown field "parameters.0".'],
  [
    'a NUL in a parameter called 0',
    { parameters: { size: '96x64', 0: { 1: ['x', 'a\0b'] } } },
    'FIELD_INVALID',
    'parameters.0.1[1] must be text',
  ],
  ['1,000 names and values', holding(1_000), 'FIELD_INVALID', 'parameters.style must be a string.'],
  ['1,001 names and values', holding(1_001), 'BODY_INVALID', 'at most 1000 names and values'],
  ['a URL as a parameter', { parameters: { size: '96x64', style: 'https://example.com/x' } }, 'FIELD_INVALID', 'style'],
  ['a path as a parameter', { parameters: { size: '96x64', style: '../../etc/passwd' } }, 'FIELD_INVALID', 'style'],
  ['a lens and a file in a text', { parameters: { size: '96x64', style: '35mm f/1.8, like file.png' } }, 'OK'],
  ['a file name as a parameter', { parameters: { size: '96x64', style: 'file.png' } }, 'OK'],
  ['a fraction as a parameter', { parameters: { size: '96x64', style: 'and/or 16/9' } }, 'OK'],
  [
    'a bucket as a parameter',
    { parameters: { size: '96x64', style: 'bucket.s3.amazonaws.com' } },
    'FIELD_INVALID',
    'parameters.style must not be a URL, host, path or bucket.',
  ],
  [
    'an escaped path as a parameter',
    { parameters: { size: '96x64', style: '%252e%252e%252fx' } },
    'FIELD_INVALID',
    'style',
  ],
  ['a host as a parameter', { parameters: { size: '96x64', style: 'localhost:8080' } }, 'FIELD_INVALID', 'style'],
  ['an address as a parameter', { parameters: { size: '96x64', style: '169.254.169.254' } }, 'FIELD_INVALID', 'style'],
  ['a model nobody has', { model_key: 'nobody-has-this' }, 'FIELD_INVALID', 'model_key'],
  [
    'a model key that is misspelt',
    { model_key: 'pictrue' },
    'FIELD_INVALID',
    'model_key must be the key of a model in the catalog; similar keys are picture.',
  ],
  ['a model key in capitals', { model_key: 'Picture' }, 'FIELD_INVALID', 'model_key'],
  ['an empty model key', { model_key: '' }, 'FIELD_INVALID', 'model_key'],
  ['a model key that is a number', { model_key: 7 }, 'FIELD_INVALID', 'model_key'],
  ['an operation nobody has', { operation: 'audio_generation' }, 'FIELD_INVALID', 'operation'],
  ['an operation the model lacks', { operation: 'video_generation' }, 'FIELD_INVALID', 'operation'],
  ['an empty prompt', { prompt: '' }, 'FIELD_INVALID', 'prompt'],
  ['a null prompt', { prompt: null }, 'FIELD_REQUIRED', 'prompt is required.'],
  ['null in an unknown field', { sampler: null }, 'FIELD_INVALID', 'unknown field "sampler".'],
  ['a null parameter', { parameters: { size: '96x64', seed: null } }, 'FIELD_INVALID', 'parameters.seed'],
  ['null parameters', { parameters: null }, 'FIELD_REQUIRED', 'parameters.size is required.'],
  ['null in what may be left out', NULLS, 'OK'],
  [
    'a prompt of white space alone',
    { prompt: ' \t\n\u0085\u00a0\u3000' },
    'FIELD_INVALID',
    'prompt must not be white space alone.',
  ],
  ['a prompt of a zero-width space alone', { prompt: '\u200b' }, 'OK'],
  ['a prompt of a byte order mark alone', { prompt: '\ufeff' }, 'OK'],
  [
    'a parameter whose name begins with a byte order mark',
    { parameters: { 'size': '96x64', '\ufeffn': 2 } },
    'FIELD_INVALID',
    'unknown field "parameters.\ufeffn".',
  ],
  ['a prompt of one character', { prompt: 'x' }, 'OK'],
  ['a prompt of 8,000 characters', { prompt: 'x'.repeat(8_000) }, 'OK'],
  ['a prompt of 8,001 characters', { prompt: 'x'.repeat(8_001) }, 'FIELD_INVALID', 'prompt'],
  ['a prompt of 8,000 characters beyond the BMP', { prompt: astral(8_000) }, 'OK'],
  ['a prompt of 8,001 characters beyond the BMP', { prompt: astral(8_001) }, 'FIELD_INVALID', 'prompt'],
  ['a NUL in the prompt', { prompt: 'a\0b' }, 'FIELD_INVALID', 'prompt'],
  ['right-to-left marks in the prompt', { prompt: '\u202eabc\u200f' }, 'OK'],
  ['a negative prompt of 8,000 characters', { negative_prompt: 'x'.repeat(8_000) }, 'OK'],
  ['a negative prompt of 8,001 characters', { negative_prompt: 'x'.repeat(8_001) }, 'FIELD_INVALID', 'negative_prompt'],
  ['an empty negative prompt', { negative_prompt: '' }, 'OK'],
  ['a missing parameter', { parameters: {} }, 'FIELD_REQUIRED', 'parameters.size is required.'],
  ['parameters that are a list', { parameters: [] }, 'FIELD_INVALID', 'parameters'],
  ['a size the model lacks', { parameters: { size: '1x1' } }, 'FIELD_INVALID', 'parameters.size must be one of '],
  ['a count of none', { parameters: { size: '96x64', n: 0 } }, 'FIELD_INVALID', 'n must'],
  ['a negative zero count', { parameters: { size: '96x64', n: -0 } }, 'FIELD_INVALID', 'n must'],
  ['a broken count', { parameters: { size: '96x64', n: 1.5 } }, 'FIELD_INVALID', 'n must'],
  [
    'a count beyond what integers can hold',
    { parameters: { size: '96x64', n: 2 ** 53 + 2 } },
    'FIELD_INVALID',
    'n must',
  ],
  ['a count as text', { parameters: { size: '96x64', n: '1' } }, 'FIELD_INVALID', 'n must'],
  ['references that are no list', { reference_upload_ids: 'x' }, 'FIELD_INVALID', 'reference_upload_ids'],
  ['no references', { reference_upload_ids: [] }, 'OK'],
  ['nine references', { reference_upload_ids: NINE_IDS }, 'FIELD_INVALID', 'reference_upload_ids'],
  [
    'more references than the model takes',
    { reference_upload_ids: NINE_IDS.slice(0, 5) },
    'FIELD_INVALID',
    'reference_upload_ids',
  ],
  ['a reference', { reference_upload_ids: ['@ready-upload'] }, 'OK'],
  ['a reference in capitals', { reference_upload_ids: ['@READY-UPLOAD'] }, 'OK'],
  [
    'a reference twice',
    { reference_upload_ids: ['@ready-upload', '@ready-upload'] },
    'FIELD_INVALID',
    'reference_upload_ids',
  ],
  [
    'a reference twice, once in capitals',
    { reference_upload_ids: ['@ready-upload', '@READY-UPLOAD'] },
    'FIELD_INVALID',
    'reference_upload_ids',
  ],
  ['a reference in braces', { reference_upload_ids: ['{@ready-upload}'] }, 'FIELD_INVALID', 'reference_upload_ids'],
  [
    'the nil reference',
    { reference_upload_ids: ['00000000-0000-0000-0000-000000000000'] },
    'FIELD_INVALID',
    'reference_upload_ids',
  ],
  [
    'a reference that is not ready',
    { reference_upload_ids: ['@prepared-upload'] },
    'FIELD_INVALID',
    'reference_upload_ids',
  ],
  ["a stranger's reference", { reference_upload_ids: ['@foreign-upload'] }, 'FIELD_INVALID', 'reference_upload_ids'],
  ["another App's reference", { reference_upload_ids: ['@other-app-upload'] }, 'FIELD_INVALID', 'reference_upload_ids'],
  [
    'a media id as reference',
    { reference_upload_ids: ['@ready-upload-media'] },
    'FIELD_INVALID',
    'reference_upload_ids',
  ],
  ['a reference in a role the model lacks', { reference_upload_ids: ['@start-frame'] }, 'FIELD_INVALID', 'start_frame'],
  ['a trace id of 128 characters', { client_trace_id: 'Az09._:-'.repeat(16) }, 'OK'],
  [
    'a trace id of 129 characters',
    { client_trace_id: `${'Az09._:-'.repeat(16)}x` },
    'FIELD_INVALID',
    'client_trace_id',
  ],
  ['an empty trace id', { client_trace_id: '' }, 'FIELD_INVALID', 'client_trace_id'],
  ['a trace id that ends in a line break', { client_trace_id: 'abc\n' }, 'FIELD_INVALID', 'client_trace_id'],
  ['a trace id with a space', { client_trace_id: 'a b' }, 'FIELD_INVALID', 'client_trace_id'],
];

const WHOLE: readonly (readonly [name: string, body: Json, code: ErrorCode | 'OK', says?: string])[] = [
  ['an empty object', {}, 'FIELD_REQUIRED', 'model_key'],
  ['no prompt', { model_key: 'picture', operation: 'image_generation' }, 'FIELD_REQUIRED', 'prompt'],
  ['no operation', { model_key: 'picture', prompt: 'x' }, 'FIELD_REQUIRED', 'operation'],
  ['a missing field beside an invalid one', { model_key: '', prompt: 'x' }, 'FIELD_REQUIRED', 'operation'],
  ['a negative prompt the model does not take', { ...CLIP, negative_prompt: 'x' }, 'FIELD_INVALID', 'negative_prompt'],
  ['a clip with both frames', { ...CLIP, reference_upload_ids: ['@start-frame', '@end-frame'] }, 'OK'],
  [
    'a clip with two first frames',
    { ...CLIP, reference_upload_ids: ['@start-frame', '@start-frame-2'] },
    'FIELD_INVALID',
    'start_frame',
  ],
];

/** Create and estimate take the same body and must refuse the same ones. */
export const GENERATION_FIELD_VECTORS: readonly Vector[] = (
  ['createGeneration', 'estimateGeneration'] as const
).flatMap((operation) => [
  ...ROWS.map(([name, change, code, says]) =>
    vector(`${operation}: ${name}`, [
      { operation, body: { ...PICTURE, ...change }, code, ...(says === undefined ? {} : { says }) },
    ]),
  ),
  once(`${operation}: two invalid fields`, operation, 'FIELD_INVALID', {
    body: { prompt: '', model_key: '', operation: 'image_generation' },
    says: 'prompt',
    otherwise: { over: 'gRPC', code: 'FIELD_INVALID', says: 'model_key', because: 'no order of fields' },
  }),
  ...WHOLE.map(([name, body, code, says]) =>
    vector(`${operation}: ${name}`, [{ operation, body, code, ...(says === undefined ? {} : { says }) }]),
  ),
]);
