import type { ErrorCode } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import type { ReferenceFile } from '../../fixtures/reference-files.js';
import { type Vector, ok, once, PICTURE, PNG_UPLOAD, refused, vector } from './vector.js';

type Row = readonly [name: string, change: JsonObject, code: ErrorCode | 'OK', says?: string];
const invalid = (name: string, change: JsonObject, says: string): Row => [name, change, 'FIELD_INVALID', says];

const PREPARE_ROWS: readonly Row[] = [
  invalid('an unknown field', { url: 'https://example.com' }, 'url'),
  invalid('no bytes', { byte_size: 0 }, 'byte_size'),
  invalid('fewer than no bytes', { byte_size: -1 }, 'byte_size'),
  invalid('half a byte', { byte_size: 1.5 }, 'byte_size'),
  invalid('a size as text', { byte_size: '1' }, 'byte_size'),
  ['as many bytes as a model takes', { byte_size: 1024 * 1024 }, 'OK'],
  [
    'a byte more than any model takes',
    { byte_size: 1024 * 1024 + 1 },
    'UPLOAD_FILE_TOO_LARGE',
    'No model of the catalog takes more than 1048576 bytes',
  ],
  ['20 MiB', { byte_size: 20 * 1024 * 1024 }, 'UPLOAD_FILE_TOO_LARGE', 'No model of the catalog'],
  [
    'a byte more than 20 MiB',
    { byte_size: 20 * 1024 * 1024 + 1 },
    'UPLOAD_FILE_TOO_LARGE',
    'Files may have at most 20971520 bytes.',
  ],
  invalid('2^53 + 2 bytes', { byte_size: 2 ** 53 + 2 }, 'byte_size'),
  ['an SVG', { media_type: 'image/svg+xml' }, 'UPLOAD_TYPE_NOT_ALLOWED'],
  ['a type in capitals', { media_type: 'IMAGE/PNG' }, 'UPLOAD_TYPE_NOT_ALLOWED'],
  invalid('an empty type', { media_type: '' }, 'media_type'),
  ['a large SVG', { media_type: 'image/svg+xml', byte_size: 2 ** 40 }, 'UPLOAD_FILE_TOO_LARGE'],
  invalid('an unknown role', { role: 'mask' }, 'role'),
  ['a first frame', { role: 'start_frame' }, 'OK'],
  ['a WebP', { media_type: 'image/webp' }, 'OK'],
  [
    'a first frame of a type that no model takes as one',
    { role: 'start_frame', media_type: 'image/webp' },
    'UPLOAD_TYPE_NOT_ALLOWED',
    'takes as start_frame: image/png, image/jpeg.',
  ],
  [
    'a first frame of a type that no model takes, and too large',
    { role: 'start_frame', media_type: 'image/webp', byte_size: 20 * 1024 * 1024 },
    'UPLOAD_TYPE_NOT_ALLOWED',
  ],
  ['a digest in capitals', { sha256: 'AB'.repeat(32) }, 'OK'],
  invalid('a short digest', { sha256: 'ab' }, 'sha256 must be 64 hexadecimal digits.'),
  invalid(
    'a path as file name',
    { filename: '../x.png' },
    'filename must be 1 to 255 characters, without slashes, backslashes and control characters.',
  ),
  ['no digest, as null', { sha256: null }, 'OK'],
  ['a null file name', { filename: null }, 'FIELD_REQUIRED', 'filename is required.'],
  invalid('an empty file name', { filename: '' }, 'filename'),
  invalid('a NUL in the file name', { filename: 'a\0.png' }, 'filename'),
];

const IMPOSTORS: readonly ReferenceFile[] = ['svg', 'html', 'pdf', 'bomb', 'jpeg', 'cut'];

const prepareFor = (file: ReferenceFile, more: JsonObject = {}) => ({
  ...PNG_UPLOAD,
  byte_size: `@size:${file}`,
  ...more,
});

/** Reference files from their preparation to their use. */
export const UPLOAD_VECTORS: readonly Vector[] = [
  ...PREPARE_ROWS.map(([name, change, code, says]) =>
    vector(`prepareUpload: ${name}`, [
      { operation: 'prepareUpload', body: { ...PNG_UPLOAD, ...change }, code, ...(says === undefined ? {} : { says }) },
    ]),
  ),
  {
    name: 'more unfinished uploads than an App may have',
    settings: { maxUnfinishedUploadsPerApp: 2 },
    steps: [
      ok('prepareUpload', { as: 'stranger', body: PNG_UPLOAD }),
      ok('prepareUpload', { as: 'stranger', body: PNG_UPLOAD, key: 'second' }),
      refused('prepareUpload', 'QUEUE_FULL', {
        as: 'stranger',
        body: PNG_UPLOAD,
        key: 'third',
        says: 'The App has 2 unfinished uploads, and may have 2;',
      }),
      ok('prepareUpload', { as: 'stranger', body: PNG_UPLOAD, key: 'second', replayed: true }),
      refused('prepareUpload', 'QUEUE_FULL', {
        as: 'stranger',
        body: { ...PNG_UPLOAD, filename: 'other.png' },
        key: 'third',
      }),
    ],
  },
  once('prepareUpload: an empty object', 'prepareUpload', 'FIELD_REQUIRED', { body: {}, says: 'filename' }),
  once('completeUpload: an unknown field', 'completeUpload', 'FIELD_INVALID', {
    id: '@ready-upload',
    body: { media_id: 'x' },
    says: 'media_id',
  }),
  once('completeUpload: no digest, as null', 'completeUpload', 'OK', { id: '@ready-upload', body: { sha256: null } }),
  once('completeUpload: a digest that is none', 'completeUpload', 'FIELD_INVALID', {
    id: '@ready-upload',
    body: { sha256: 'x' },
    says: 'sha256',
  }),
  ...[
    '@foreign-upload',
    '@other-app-upload',
    '0198c0de-0000-7000-8000-000000000000',
    'not-an-id',
    '@ready-upload-media',
  ].map((id) => once(`completing ${id}`, 'completeUpload', 'FIELD_INVALID', { id, says: 'upload_id' })),
  ...[
    '@foreign-upload',
    '@other-app-upload',
    '0198c0de-0000-7000-8000-000000000000',
    'not-an-id',
    '@ready-upload-media',
  ].map((id) => once(`getUpload: ${id}`, 'getUpload', 'NOT_FOUND', { id })),
  once('getUpload: one that was prepared', 'getUpload', 'OK', {
    id: '@prepared-upload',
    data: { status: 'prepared', filename: 'a.png', media_type: 'image/png', role: 'reference_image' },
    without: ['media_id', 'sha256', 'width', 'height'],
  }),
  once('getUpload: one that is ready', 'getUpload', 'OK', {
    id: '@ready-upload',
    data: { status: 'ready', media_type: 'image/png', media_id: '@ready-upload-media' },
  }),
  once('completing before the bytes were sent', 'completeUpload', 'FIELD_INVALID', {
    id: '@prepared-upload',
    says: 'bytes',
  }),
  vector('a file is prepared, sent, completed and used', [
    ok('prepareUpload', {
      key: 'p',
      body: prepareFor('png', { sha256: '@sha256:png' }),
      save: 'u',
      replayed: false,
      data: { method: 'PUT', media_type: 'image/png', role: 'reference_image', byte_size: '@size:png' },
    }),
    ok('prepareUpload', {
      key: 'p',
      body: prepareFor('png', { sha256: '@sha256:png' }),
      replayed: true,
      data: { upload_id: '@u' },
    }),
    refused('createGeneration', 'FIELD_INVALID', {
      body: { ...PICTURE, reference_upload_ids: ['@u'] },
      says: 'reference_upload_ids',
    }),
    { event: 'put', upload: '@u', file: 'png', accepted: true },
    ok('completeUpload', {
      key: 'c',
      id: '@u',
      data: { upload_id: '@u', status: 'ready', media_type: 'image', byte_size: '@size:png' },
      replayed: false,
    }),
    ok('completeUpload', { key: 'c', id: '@u', data: { upload_id: '@u', status: 'ready' }, replayed: true }),
    refused('completeUpload', 'IDEMPOTENCY_PAYLOAD_MISMATCH', { key: 'c', id: '@u', body: { sha256: '@sha256:png' } }),
    ok('completeUpload', { key: 'c2', id: '@u', body: { sha256: '@sha256:png' }, data: { status: 'ready' } }),
    ok('getUpload', { id: '@u', data: { status: 'ready', sha256: '@sha256:png' } }),
    ok('createGeneration', { body: { ...PICTURE, reference_upload_ids: ['@u'] } }),
  ]),
  ...IMPOSTORS.map((file) =>
    vector(`a ${file} sent as PNG is not completed, and the picture sent after it is`, [
      ok('prepareUpload', { body: prepareFor(file), save: 'u' }),
      { event: 'put', upload: '@u', file, accepted: true },
      refused('completeUpload', 'FIELD_INVALID', { key: 'c', id: '@u' }),
      refused('createGeneration', 'FIELD_INVALID', { body: { ...PICTURE, reference_upload_ids: ['@u'] } }),
    ]),
  ),
  vector('a picture with bytes after its end is completed as it was declared, and can be used', [
    ok('prepareUpload', { body: prepareFor('polyglot', { sha256: '@sha256:polyglot' }), save: 'u' }),
    { event: 'put', upload: '@u', file: 'polyglot', accepted: true },
    ok('completeUpload', { key: 'c', id: '@u', data: { byte_size: '@size:polyglot' } }),
    ok('createGeneration', { body: { ...PICTURE, reference_upload_ids: ['@u'] } }),
  ]),
  vector('bytes of another length are not taken', [
    ok('prepareUpload', { body: prepareFor('png'), save: 'u' }),
    { event: 'put', upload: '@u', file: 'cut', accepted: false },
    refused('completeUpload', 'FIELD_INVALID', { id: '@u', says: 'bytes' }),
  ]),
  vector('bytes of another digest are not completed, and others may be sent until the target expires', [
    ok('prepareUpload', { body: prepareFor('png'), save: 'u' }),
    { event: 'put', upload: '@u', file: 'png', accepted: true },
    refused('completeUpload', 'FIELD_INVALID', {
      id: '@u',
      key: 'c',
      body: { sha256: '@sha256:other-png' },
      says: 'sha256',
    }),
    { event: 'put', upload: '@u', file: 'png', accepted: true },
    ok('completeUpload', { id: '@u', key: 'c', body: { sha256: '@sha256:png' } }),
  ]),
  vector('a target expires', [
    ok('prepareUpload', { body: prepareFor('png'), save: 'u' }),
    { event: 'put', upload: '@u', file: 'png', accepted: true },
    { event: 'advance', byMs: 15 * 60_000 + 1_000 },
    { event: 'put', upload: '@u', file: 'png', accepted: false },
    refused('completeUpload', 'UPLOAD_URL_EXPIRED', { id: '@u' }),
    ok('getUpload', { id: '@u', data: { status: 'expired' } }),
    refused('completeUpload', 'FIELD_INVALID', { as: 'stranger', id: '@u', says: 'upload_id' }),
  ]),
  vector('a target that has expired is not given out again', [
    ok('prepareUpload', { key: 'p', body: prepareFor('png') }),
    { event: 'advance', byMs: 15 * 60_000 + 1_000 },
    refused('prepareUpload', 'IDEMPOTENCY_REPLAY_EXPIRED', { key: 'p', body: prepareFor('png') }),
    refused('prepareUpload', 'IDEMPOTENCY_PAYLOAD_MISMATCH', { key: 'p', body: prepareFor('jpeg') }),
  ]),
  vector('bytes sent after completion change nothing', [
    ok('prepareUpload', { body: prepareFor('png'), save: 'u' }),
    { event: 'put', upload: '@u', file: 'png', accepted: true },
    ok('completeUpload', { id: '@u' }),
    { event: 'put', upload: '@u', file: 'png', accepted: 'either' },
    ok('completeUpload', { id: '@u', body: { sha256: '@sha256:png' }, data: { status: 'ready' } }),
  ]),
  vector('an upload that was not used is deleted', [
    ok('prepareUpload', { key: 'p', body: prepareFor('png'), save: 'u' }),
    { event: 'put', upload: '@u', file: 'png', accepted: true },
    ok('completeUpload', { id: '@u' }),
    ok('deleteUpload', { id: '@u', data: { upload_id: '@u' } }),
    refused('getUpload', 'NOT_FOUND', { id: '@u' }),
    refused('createGeneration', 'FIELD_INVALID', { body: { ...PICTURE, reference_upload_ids: ['@u'] } }),
    refused('prepareUpload', 'IDEMPOTENCY_REPLAY_EXPIRED', { key: 'p', body: prepareFor('png') }),
    refused('deleteUpload', 'NOT_FOUND', { id: '@u', as: 'stranger' }),
  ]),
  vector('an upload that a generation was created with is not deleted', [
    ok('createGeneration', { body: { ...PICTURE, reference_upload_ids: ['@ready-upload'] } }),
    refused('deleteUpload', 'CONFLICT', { id: '@ready-upload', says: 'A generation was created with' }),
    ok('getUpload', { id: '@ready-upload', data: { status: 'ready' } }),
  ]),
  ...['@foreign-upload', '@other-app-upload', '0198c0de-0000-7000-8000-000000000000', 'not-an-id'].map((id) =>
    once(`deleteUpload: ${id}`, 'deleteUpload', 'NOT_FOUND', { id }),
  ),
];
