import type { JsonObject } from '../../../core/json.js';
import { KEYED } from './access.js';
import { type CallStep, once, type OperationName, PICTURE, PNG_UPLOAD, type Vector } from './vector.js';

const REQUESTS: Readonly<Partial<Record<OperationName, Omit<CallStep, 'code'>>>> = {
  createGeneration: { operation: 'createGeneration', body: PICTURE },
  prepareUpload: { operation: 'prepareUpload', body: PNG_UPLOAD },
  completeUpload: { operation: 'completeUpload', id: '@ready-upload' },
};

/** Invalid values for fields that each operation has. */
const WRONG: Readonly<Partial<Record<OperationName, JsonObject>>> = {
  createGeneration: { prompt: '' },
  prepareUpload: { filename: '' },
  completeUpload: { sha256: 'x' },
};

const requestOf = (operation: OperationName) => REQUESTS[operation] ?? { operation };
const DAY_MS = 86_400_000;

/** The key: its form, its scope, and the answer when it is repeated. */
export const IDEMPOTENCY_VECTORS: readonly Vector[] = [
  ...KEYED.flatMap((operation): Vector[] => [
    once(`${operation} without a key`, { ...requestOf(operation), key: null, code: 'IDEMPOTENCY_KEY_REQUIRED' }),
    once(`${operation} without a key, and a body that is wrong`, {
      ...requestOf(operation),
      body: WRONG[operation] ?? {},
      key: null,
      code: 'IDEMPOTENCY_KEY_REQUIRED',
    }),
    once(`${operation} with a key of 256 characters`, {
      ...requestOf(operation),
      key: 'k'.repeat(256),
      code: 'IDEMPOTENCY_KEY_INVALID',
    }),
    once(`${operation} with a key of 255 characters`, { ...requestOf(operation), key: '~!k'.repeat(85), code: 'OK' }),
    once(`${operation} with a space in the key`, {
      ...requestOf(operation),
      key: 'a b',
      code: 'IDEMPOTENCY_KEY_INVALID',
    }),
  ]),
  once('createGeneration with an empty key', {
    ...requestOf('createGeneration'),
    key: '',
    code: 'IDEMPOTENCY_KEY_INVALID',
  }),
  {
    name: 'a creation sent twice is one generation',
    steps: [
      { operation: 'createGeneration', key: 'k', body: PICTURE, code: 'OK', save: 'g', replayed: false },
      {
        operation: 'createGeneration',
        key: 'k',
        body: {
          parameters: { size: '96x64' },
          prompt: 'a lighthouse',
          operation: 'image_generation',
          model_key: 'picture',
        },
        code: 'OK',
        replayed: true,
        data: { generation_id: '@g' },
      },
      { operation: 'getCredits', code: 'OK', data: { balance_credits: 990 } },
    ],
  },
  {
    name: 'a field that is null is one that was left out',
    steps: [
      { operation: 'createGeneration', key: 'k', body: PICTURE, code: 'OK', save: 'g' },
      {
        operation: 'createGeneration',
        key: 'k',
        body: { ...PICTURE, negative_prompt: null, client_trace_id: null },
        code: 'OK',
        replayed: true,
        data: { generation_id: '@g' },
      },
      { operation: 'prepareUpload', key: 'k', body: { ...PNG_UPLOAD, sha256: null }, code: 'OK', save: 'u' },
      { operation: 'prepareUpload', key: 'k', body: PNG_UPLOAD, code: 'OK', replayed: true, data: { upload_id: '@u' } },
      { operation: 'completeUpload', key: 'k', id: '@ready-upload', code: 'OK', replayed: false },
      {
        operation: 'completeUpload',
        key: 'k',
        id: '@ready-upload',
        body: { sha256: null },
        code: 'OK',
        replayed: true,
      },
    ],
  },
  {
    name: 'a key used again for something else',
    steps: [
      { operation: 'createGeneration', key: 'k', body: PICTURE, code: 'OK' },
      {
        operation: 'createGeneration',
        key: 'k',
        body: { ...PICTURE, prompt: 'another' },
        code: 'IDEMPOTENCY_PAYLOAD_MISMATCH',
      },
      { operation: 'createGeneration', key: 'k', body: { ...PICTURE, prompt: '' }, code: 'FIELD_INVALID' },
      { operation: 'getCredits', code: 'OK', data: { balance_credits: 990 } },
    ],
  },
  {
    name: 'a key belongs to one App and one operation',
    steps: [
      { operation: 'createGeneration', key: 'k', body: PICTURE, code: 'OK', save: 'g' },
      {
        operation: 'createGeneration',
        as: 'other-app',
        key: 'k',
        body: { ...PICTURE, prompt: 'another' },
        code: 'OK',
        replayed: false,
      },
      { operation: 'prepareUpload', key: 'k', body: PNG_UPLOAD, code: 'OK', replayed: false },
      { operation: 'completeUpload', key: 'k', id: '@ready-upload', code: 'OK' },
    ],
  },
  {
    name: 'a refused creation leaves its key free for a better one',
    steps: [
      {
        operation: 'createGeneration',
        key: 'k',
        as: 'poor',
        body: { ...PICTURE, parameters: { size: '96x64', n: 4 } },
        code: 'CREDITS_INSUFFICIENT',
      },
      { operation: 'createGeneration', key: 'k', as: 'poor', body: PICTURE, code: 'OK', replayed: false },
    ],
  },
  {
    name: 'a key is answered for a day, and stays taken after it',
    steps: [
      { operation: 'createGeneration', key: 'k', body: PICTURE, code: 'OK' },
      { operation: 'prepareUpload', key: 'u', body: PNG_UPLOAD, code: 'OK' },
      { event: 'advance', byMs: DAY_MS + 1_000 },
      { operation: 'createGeneration', key: 'k', body: PICTURE, code: 'IDEMPOTENCY_REPLAY_EXPIRED' },
      {
        operation: 'createGeneration',
        key: 'k',
        body: { ...PICTURE, prompt: 'another' },
        code: 'IDEMPOTENCY_PAYLOAD_MISMATCH',
      },
      { operation: 'prepareUpload', key: 'u', body: PNG_UPLOAD, code: 'IDEMPOTENCY_REPLAY_EXPIRED' },
    ],
  },
  once('the first request of a key is still under way', {
    operation: 'createGeneration',
    key: 'under-way',
    body: PICTURE,
    code: 'IDEMPOTENCY_IN_PROGRESS',
  }),
  once('another request of a key that is under way', {
    operation: 'createGeneration',
    key: 'under-way',
    body: { ...PICTURE, prompt: 'another' },
    code: 'IDEMPOTENCY_PAYLOAD_MISMATCH',
  }),
];
