import type { ErrorCode } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import type { ReferenceFile } from '../../fixtures/reference-files.js';
import { once, PICTURE, PNG_UPLOAD, type Vector } from './vector.js';

const PREPARE_ROWS: readonly (readonly [name: string, change: JsonObject, code: ErrorCode | 'OK', says?: string])[] = [
  ['an unknown field', { url: 'https://example.com' }, 'FIELD_INVALID', 'url'],
  ['no bytes', { byte_size: 0 }, 'FIELD_INVALID', 'byte_size'],
  ['fewer than no bytes', { byte_size: -1 }, 'FIELD_INVALID', 'byte_size'],
  ['half a byte', { byte_size: 1.5 }, 'FIELD_INVALID', 'byte_size'],
  ['a size as text', { byte_size: '1' }, 'FIELD_INVALID', 'byte_size'],
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
  ['2^53 + 2 bytes', { byte_size: 2 ** 53 + 2 }, 'FIELD_INVALID', 'byte_size'],
  ['an SVG', { media_type: 'image/svg+xml' }, 'UPLOAD_TYPE_NOT_ALLOWED'],
  ['a type in capitals', { media_type: 'IMAGE/PNG' }, 'UPLOAD_TYPE_NOT_ALLOWED'],
  ['an empty type', { media_type: '' }, 'FIELD_INVALID', 'media_type'],
  ['a large SVG', { media_type: 'image/svg+xml', byte_size: 2 ** 40 }, 'UPLOAD_FILE_TOO_LARGE'],
  ['an unknown role', { role: 'mask' }, 'FIELD_INVALID', 'role'],
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
  ['a short digest', { sha256: 'ab' }, 'FIELD_INVALID', 'sha256 must be 64 hexadecimal digits.'],
  [
    'a path as file name',
    { filename: '../x.png' },
    'FIELD_INVALID',
    'filename must be 1 to 255 characters, without slashes, backslashes and control characters.',
  ],
  ['no digest, as null', { sha256: null }, 'OK'],
  ['a null file name', { filename: null }, 'FIELD_REQUIRED', 'filename is required.'],
  ['an empty file name', { filename: '' }, 'FIELD_INVALID', 'filename'],
  ['a NUL in the file name', { filename: 'a\0.png' }, 'FIELD_INVALID', 'filename'],
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
    once(`prepareUpload: ${name}`, {
      operation: 'prepareUpload',
      body: { ...PNG_UPLOAD, ...change },
      code,
      ...(says === undefined ? {} : { says }),
    }),
  ),
  {
    name: 'more unfinished uploads than an App may have',
    settings: { maxUnfinishedUploadsPerApp: 2 },
    steps: [
      { operation: 'prepareUpload', as: 'stranger', body: PNG_UPLOAD, code: 'OK' },
      { operation: 'prepareUpload', as: 'stranger', body: PNG_UPLOAD, key: 'second', code: 'OK' },
      {
        operation: 'prepareUpload',
        as: 'stranger',
        body: PNG_UPLOAD,
        key: 'third',
        code: 'QUEUE_FULL',
        says: 'The App has 2 unfinished uploads, and may have 2;',
      },
      { operation: 'prepareUpload', as: 'stranger', body: PNG_UPLOAD, key: 'second', code: 'OK', replayed: true },
      {
        operation: 'prepareUpload',
        as: 'stranger',
        body: { ...PNG_UPLOAD, filename: 'other.png' },
        key: 'third',
        code: 'QUEUE_FULL',
      },
    ],
  },
  once('prepareUpload: an empty object', {
    operation: 'prepareUpload',
    body: {},
    code: 'FIELD_REQUIRED',
    says: 'filename',
  }),
  once('completeUpload: an unknown field', {
    operation: 'completeUpload',
    id: '@ready-upload',
    body: { media_id: 'x' },
    code: 'FIELD_INVALID',
    says: 'media_id',
  }),
  once('completeUpload: no digest, as null', {
    operation: 'completeUpload',
    id: '@ready-upload',
    body: { sha256: null },
    code: 'OK',
  }),
  once('completeUpload: a digest that is none', {
    operation: 'completeUpload',
    id: '@ready-upload',
    body: { sha256: 'x' },
    code: 'FIELD_INVALID',
    says: 'sha256',
  }),
  ...[
    '@foreign-upload',
    '@other-app-upload',
    '0198c0de-0000-7000-8000-000000000000',
    'not-an-id',
    '@ready-upload-media',
  ].map((id) =>
    once(`completing ${id}`, { operation: 'completeUpload', id, code: 'FIELD_INVALID', says: 'upload_id' }),
  ),
  ...[
    '@foreign-upload',
    '@other-app-upload',
    '0198c0de-0000-7000-8000-000000000000',
    'not-an-id',
    '@ready-upload-media',
  ].map((id) => once(`getUpload: ${id}`, { operation: 'getUpload', id, code: 'NOT_FOUND' })),
  once('getUpload: one that was prepared', {
    operation: 'getUpload',
    id: '@prepared-upload',
    code: 'OK',
    data: { status: 'prepared', filename: 'a.png', media_type: 'image/png', role: 'reference_image' },
    without: ['media_id', 'sha256', 'width', 'height'],
  }),
  once('getUpload: one that is ready', {
    operation: 'getUpload',
    id: '@ready-upload',
    code: 'OK',
    data: { status: 'ready', media_type: 'image/png', media_id: '@ready-upload-media' },
  }),
  once('completing before the bytes were sent', {
    operation: 'completeUpload',
    id: '@prepared-upload',
    code: 'FIELD_INVALID',
    says: 'bytes',
  }),
  {
    name: 'a file is prepared, sent, completed and used',
    steps: [
      {
        operation: 'prepareUpload',
        key: 'p',
        body: prepareFor('png', { sha256: '@sha256:png' }),
        code: 'OK',
        save: 'u',
        replayed: false,
        data: { method: 'PUT', media_type: 'image/png', role: 'reference_image', byte_size: '@size:png' },
      },
      {
        operation: 'prepareUpload',
        key: 'p',
        body: prepareFor('png', { sha256: '@sha256:png' }),
        code: 'OK',
        replayed: true,
        data: { upload_id: '@u' },
      },
      {
        operation: 'createGeneration',
        body: { ...PICTURE, reference_upload_ids: ['@u'] },
        code: 'FIELD_INVALID',
        says: 'reference_upload_ids',
      },
      { event: 'put', upload: '@u', file: 'png', accepted: true },
      {
        operation: 'completeUpload',
        key: 'c',
        id: '@u',
        code: 'OK',
        data: { upload_id: '@u', status: 'ready', media_type: 'image', byte_size: '@size:png' },
        replayed: false,
      },
      {
        operation: 'completeUpload',
        key: 'c',
        id: '@u',
        code: 'OK',
        data: { upload_id: '@u', status: 'ready' },
        replayed: true,
      },
      {
        operation: 'completeUpload',
        key: 'c',
        id: '@u',
        body: { sha256: '@sha256:png' },
        code: 'IDEMPOTENCY_PAYLOAD_MISMATCH',
      },
      {
        operation: 'completeUpload',
        key: 'c2',
        id: '@u',
        body: { sha256: '@sha256:png' },
        code: 'OK',
        data: { status: 'ready' },
      },
      { operation: 'getUpload', id: '@u', code: 'OK', data: { status: 'ready', sha256: '@sha256:png' } },
      { operation: 'createGeneration', body: { ...PICTURE, reference_upload_ids: ['@u'] }, code: 'OK' },
    ],
  },
  ...IMPOSTORS.map((file): Vector => ({
    name: `a ${file} sent as PNG is not completed, and the picture sent after it is`,
    steps: [
      { operation: 'prepareUpload', body: prepareFor(file), code: 'OK', save: 'u' },
      { event: 'put', upload: '@u', file, accepted: true },
      { operation: 'completeUpload', key: 'c', id: '@u', code: 'FIELD_INVALID' },
      { operation: 'createGeneration', body: { ...PICTURE, reference_upload_ids: ['@u'] }, code: 'FIELD_INVALID' },
    ],
  })),
  {
    name: 'a picture with bytes after its end is completed as it was declared, and can be used',
    steps: [
      {
        operation: 'prepareUpload',
        body: prepareFor('polyglot', { sha256: '@sha256:polyglot' }),
        code: 'OK',
        save: 'u',
      },
      { event: 'put', upload: '@u', file: 'polyglot', accepted: true },
      { operation: 'completeUpload', key: 'c', id: '@u', code: 'OK', data: { byte_size: '@size:polyglot' } },
      { operation: 'createGeneration', body: { ...PICTURE, reference_upload_ids: ['@u'] }, code: 'OK' },
    ],
  },
  {
    name: 'bytes of another length are not taken',
    steps: [
      { operation: 'prepareUpload', body: prepareFor('png'), code: 'OK', save: 'u' },
      { event: 'put', upload: '@u', file: 'cut', accepted: false },
      { operation: 'completeUpload', id: '@u', code: 'FIELD_INVALID', says: 'bytes' },
    ],
  },
  {
    name: 'bytes of another digest are not completed, and others may be sent until the target expires',
    steps: [
      { operation: 'prepareUpload', body: prepareFor('png'), code: 'OK', save: 'u' },
      { event: 'put', upload: '@u', file: 'png', accepted: true },
      {
        operation: 'completeUpload',
        id: '@u',
        key: 'c',
        body: { sha256: '@sha256:other-png' },
        code: 'FIELD_INVALID',
        says: 'sha256',
      },
      { event: 'put', upload: '@u', file: 'png', accepted: true },
      { operation: 'completeUpload', id: '@u', key: 'c', body: { sha256: '@sha256:png' }, code: 'OK' },
    ],
  },
  {
    name: 'a target expires',
    steps: [
      { operation: 'prepareUpload', body: prepareFor('png'), code: 'OK', save: 'u' },
      { event: 'put', upload: '@u', file: 'png', accepted: true },
      { event: 'advance', byMs: 15 * 60_000 + 1_000 },
      { event: 'put', upload: '@u', file: 'png', accepted: false },
      { operation: 'completeUpload', id: '@u', code: 'UPLOAD_URL_EXPIRED' },
      { operation: 'getUpload', id: '@u', code: 'OK', data: { status: 'expired' } },
      { operation: 'completeUpload', as: 'stranger', id: '@u', code: 'FIELD_INVALID', says: 'upload_id' },
    ],
  },
  {
    name: 'a target that has expired is not given out again',
    steps: [
      { operation: 'prepareUpload', key: 'p', body: prepareFor('png'), code: 'OK' },
      { event: 'advance', byMs: 15 * 60_000 + 1_000 },
      { operation: 'prepareUpload', key: 'p', body: prepareFor('png'), code: 'IDEMPOTENCY_REPLAY_EXPIRED' },
      { operation: 'prepareUpload', key: 'p', body: prepareFor('jpeg'), code: 'IDEMPOTENCY_PAYLOAD_MISMATCH' },
    ],
  },
  {
    name: 'bytes sent after completion change nothing',
    steps: [
      { operation: 'prepareUpload', body: prepareFor('png'), code: 'OK', save: 'u' },
      { event: 'put', upload: '@u', file: 'png', accepted: true },
      { operation: 'completeUpload', id: '@u', code: 'OK' },
      { event: 'put', upload: '@u', file: 'png', accepted: 'either' },
      { operation: 'completeUpload', id: '@u', body: { sha256: '@sha256:png' }, code: 'OK', data: { status: 'ready' } },
    ],
  },
  {
    name: 'an upload that was not used is deleted',
    steps: [
      { operation: 'prepareUpload', key: 'p', body: prepareFor('png'), code: 'OK', save: 'u' },
      { event: 'put', upload: '@u', file: 'png', accepted: true },
      { operation: 'completeUpload', id: '@u', code: 'OK' },
      { operation: 'deleteUpload', id: '@u', code: 'OK', data: { upload_id: '@u' } },
      { operation: 'getUpload', id: '@u', code: 'NOT_FOUND' },
      { operation: 'createGeneration', body: { ...PICTURE, reference_upload_ids: ['@u'] }, code: 'FIELD_INVALID' },
      { operation: 'prepareUpload', key: 'p', body: prepareFor('png'), code: 'IDEMPOTENCY_REPLAY_EXPIRED' },
      { operation: 'deleteUpload', id: '@u', as: 'stranger', code: 'NOT_FOUND' },
    ],
  },
  {
    name: 'an upload that a generation was created with is not deleted',
    steps: [
      {
        operation: 'createGeneration',
        body: { ...PICTURE, reference_upload_ids: ['@ready-upload'] },
        code: 'OK',
      },
      { operation: 'deleteUpload', id: '@ready-upload', code: 'CONFLICT', says: 'A generation was created with' },
      { operation: 'getUpload', id: '@ready-upload', code: 'OK', data: { status: 'ready' } },
    ],
  },
  ...['@foreign-upload', '@other-app-upload', '0198c0de-0000-7000-8000-000000000000', 'not-an-id'].map((id) =>
    once(`deleteUpload: ${id}`, { operation: 'deleteUpload', id, code: 'NOT_FOUND' }),
  ),
];
