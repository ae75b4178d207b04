import type { ErrorCode } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { type Vector, CLIP, once, PICTURE, vector } from './vector.js';

type Row = readonly [name: string, change: JsonObject, code: ErrorCode | 'OK', says?: string];

const invalid = (name: string, change: JsonObject, says: string): Row => [name, change, 'FIELD_INVALID', says];

const NINE_IDS = Array.from({ length: 9 }, (_, index) => `00000000-0000-7000-8000-00000000000${index}`);
const NULLS = { negative_prompt: null, reference_upload_ids: null, client_trace_id: null };
/** A picture whose style is a list, with so many names and values in the whole body. */
const holding = (count: number): JsonObject => ({
  parameters: { size: '96x64', style: Array.from({ length: count - 13 }, () => 1) },
});
const astral = (count: number) => '𝒟'.repeat(count);

const ROWS: readonly Row[] = [
  invalid('an unknown field', { provider: 'x' }, 'unknown field "provider".'),
  invalid(
    'a parameter beside the others',
    { size: '96x64' },
    'size is not a field; it is a parameter of picture: send it in parameters.',
  ),
  invalid('a provider URL in the body', { endpoint: 'https://example.com' }, 'endpoint'),
  invalid('an unknown parameter', { parameters: { size: '96x64', url: 'x' } }, 'unknown field "parameters.url".'),
  invalid(
    'an unknown parameter further in',
    { parameters: { size: '96x64', tuning: { bucket: 'x' } } },
    'parameters.tuning.bucket',
  ),
  invalid('a parameter called 0', { parameters: { size: '96x64', 0: 1 } }, 'unknown field "parameters.0".'),
  invalid(
    'a NUL in a parameter called 0',
    { parameters: { size: '96x64', 0: { 1: ['x', 'a\0b'] } } },
    'parameters.0.1[1] must be text',
  ),
  invalid('1,000 names and values', holding(1_000), 'parameters.style must be a string.'),
  ['1,001 names and values', holding(1_001), 'BODY_INVALID', 'at most 1000 names and values'],
  invalid('a URL as a parameter', { parameters: { size: '96x64', style: 'https://example.com/x' } }, 'style'),
  invalid('a path as a parameter', { parameters: { size: '96x64', style: '../../etc/passwd' } }, 'style'),
  ['a lens and a file in a text', { parameters: { size: '96x64', style: '35mm f/1.8, like file.png' } }, 'OK'],
  ['a file name as a parameter', { parameters: { size: '96x64', style: 'file.png' } }, 'OK'],
  ['a fraction as a parameter', { parameters: { size: '96x64', style: 'and/or 16/9' } }, 'OK'],
  invalid(
    'a bucket as a parameter',
    { parameters: { size: '96x64', style: 'bucket.s3.amazonaws.com' } },
    'parameters.style must not be a URL, host, path or bucket.',
  ),
  invalid('an escaped path as a parameter', { parameters: { size: '96x64', style: '%252e%252e%252fx' } }, 'style'),
  invalid('a host as a parameter', { parameters: { size: '96x64', style: 'localhost:8080' } }, 'style'),
  invalid('an address as a parameter', { parameters: { size: '96x64', style: '169.254.169.254' } }, 'style'),
  invalid('a model nobody has', { model_key: 'nobody-has-this' }, 'model_key'),
  invalid(
    'a model key that is misspelt',
    { model_key: 'pictrue' },
    'model_key must be the key of a model in the catalog; similar keys are picture.',
  ),
  invalid('a model key in capitals', { model_key: 'Picture' }, 'model_key'),
  invalid('an empty model key', { model_key: '' }, 'model_key'),
  invalid('a model key that is a number', { model_key: 7 }, 'model_key'),
  invalid('an operation nobody has', { operation: 'audio_generation' }, 'operation'),
  invalid('an operation the model lacks', { operation: 'video_generation' }, 'operation'),
  invalid('an empty prompt', { prompt: '' }, 'prompt'),
  ['a null prompt', { prompt: null }, 'FIELD_REQUIRED', 'prompt is required.'],
  invalid('null in an unknown field', { sampler: null }, 'unknown field "sampler".'),
  invalid('a null parameter', { parameters: { size: '96x64', seed: null } }, 'parameters.seed'),
  ['null parameters', { parameters: null }, 'FIELD_REQUIRED', 'parameters.size is required.'],
  ['null in what may be left out', NULLS, 'OK'],
  invalid(
    'a prompt of white space alone',
    { prompt: ' \t\n\u0085\u00a0\u3000' },
    'prompt must not be white space alone.',
  ),
  ['a prompt of a zero-width space alone', { prompt: '\u200b' }, 'OK'],
  ['a prompt of a byte order mark alone', { prompt: '\ufeff' }, 'OK'],
  invalid(
    'a parameter whose name begins with a byte order mark',
    { parameters: { 'size': '96x64', '\ufeffn': 2 } },
    'unknown field "parameters.\ufeffn".',
  ),
  ['a prompt of one character', { prompt: 'x' }, 'OK'],
  ['a prompt of 8,000 characters', { prompt: 'x'.repeat(8_000) }, 'OK'],
  invalid('a prompt of 8,001 characters', { prompt: 'x'.repeat(8_001) }, 'prompt'),
  ['a prompt of 8,000 characters beyond the BMP', { prompt: astral(8_000) }, 'OK'],
  invalid('a prompt of 8,001 characters beyond the BMP', { prompt: astral(8_001) }, 'prompt'),
  invalid('a NUL in the prompt', { prompt: 'a\0b' }, 'prompt'),
  ['right-to-left marks in the prompt', { prompt: '\u202eabc\u200f' }, 'OK'],
  ['a negative prompt of 8,000 characters', { negative_prompt: 'x'.repeat(8_000) }, 'OK'],
  invalid('a negative prompt of 8,001 characters', { negative_prompt: 'x'.repeat(8_001) }, 'negative_prompt'),
  ['an empty negative prompt', { negative_prompt: '' }, 'OK'],
  ['a missing parameter', { parameters: {} }, 'FIELD_REQUIRED', 'parameters.size is required.'],
  invalid('parameters that are a list', { parameters: [] }, 'parameters'),
  invalid('a size the model lacks', { parameters: { size: '1x1' } }, 'parameters.size must be one of '),
  invalid('a count of none', { parameters: { size: '96x64', n: 0 } }, 'n must'),
  invalid('a negative zero count', { parameters: { size: '96x64', n: -0 } }, 'n must'),
  invalid('a broken count', { parameters: { size: '96x64', n: 1.5 } }, 'n must'),
  invalid('a count beyond what integers can hold', { parameters: { size: '96x64', n: 2 ** 53 + 2 } }, 'n must'),
  invalid('a count as text', { parameters: { size: '96x64', n: '1' } }, 'n must'),
  invalid('references that are no list', { reference_upload_ids: 'x' }, 'reference_upload_ids'),
  ['no references', { reference_upload_ids: [] }, 'OK'],
  invalid('nine references', { reference_upload_ids: NINE_IDS }, 'reference_upload_ids'),
  invalid(
    'more references than the model takes',
    { reference_upload_ids: NINE_IDS.slice(0, 5) },
    'reference_upload_ids',
  ),
  ['a reference', { reference_upload_ids: ['@ready-upload'] }, 'OK'],
  ['a reference in capitals', { reference_upload_ids: ['@READY-UPLOAD'] }, 'OK'],
  invalid('a reference twice', { reference_upload_ids: ['@ready-upload', '@ready-upload'] }, 'reference_upload_ids'),
  invalid(
    'a reference twice, once in capitals',
    { reference_upload_ids: ['@ready-upload', '@READY-UPLOAD'] },
    'reference_upload_ids',
  ),
  invalid('a reference in braces', { reference_upload_ids: ['{@ready-upload}'] }, 'reference_upload_ids'),
  invalid(
    'the nil reference',
    { reference_upload_ids: ['00000000-0000-0000-0000-000000000000'] },
    'reference_upload_ids',
  ),
  invalid('a reference that is not ready', { reference_upload_ids: ['@prepared-upload'] }, 'reference_upload_ids'),
  invalid("a stranger's reference", { reference_upload_ids: ['@foreign-upload'] }, 'reference_upload_ids'),
  invalid("another App's reference", { reference_upload_ids: ['@other-app-upload'] }, 'reference_upload_ids'),
  invalid('a media id as reference', { reference_upload_ids: ['@ready-upload-media'] }, 'reference_upload_ids'),
  invalid('a reference in a role the model lacks', { reference_upload_ids: ['@start-frame'] }, 'start_frame'),
  ['a trace id of 128 characters', { client_trace_id: 'Az09._:-'.repeat(16) }, 'OK'],
  invalid('a trace id of 129 characters', { client_trace_id: `${'Az09._:-'.repeat(16)}x` }, 'client_trace_id'),
  invalid('an empty trace id', { client_trace_id: '' }, 'client_trace_id'),
  invalid('a trace id that ends in a line break', { client_trace_id: 'abc\n' }, 'client_trace_id'),
  invalid('a trace id with a space', { client_trace_id: 'a b' }, 'client_trace_id'),
];

const WHOLE: readonly (readonly [name: string, body: Json, code: ErrorCode | 'OK', says?: string])[] = [
  ['an empty object', {}, 'FIELD_REQUIRED', 'model_key'],
  ['no prompt', { model_key: 'picture', operation: 'image_generation' }, 'FIELD_REQUIRED', 'prompt'],
  ['no operation', { model_key: 'picture', prompt: 'x' }, 'FIELD_REQUIRED', 'operation'],
  ['a missing field beside an invalid one', { model_key: '', prompt: 'x' }, 'FIELD_REQUIRED', 'operation'],
  invalid('a negative prompt the model does not take', { ...CLIP, negative_prompt: 'x' }, 'negative_prompt'),
  ['a clip with both frames', { ...CLIP, reference_upload_ids: ['@start-frame', '@end-frame'] }, 'OK'],
  invalid(
    'a clip with two first frames',
    { ...CLIP, reference_upload_ids: ['@start-frame', '@start-frame-2'] },
    'start_frame',
  ),
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
