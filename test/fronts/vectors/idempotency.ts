import type { JsonObject } from '../../../core/json.js';
import { KEYED } from './access.js';
import {
  type CallStep,
  type OperationName,
  type Vector,
  ok,
  once,
  PICTURE,
  PNG_UPLOAD,
  refused,
  vector,
} from './vector.js';

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
    vector(`${operation} without a key`, [{ ...requestOf(operation), key: null, code: 'IDEMPOTENCY_KEY_REQUIRED' }]),
    vector(`${operation} without a key, and a body that is wrong`, [
      { ...requestOf(operation), body: WRONG[operation] ?? {}, key: null, code: 'IDEMPOTENCY_KEY_REQUIRED' },
    ]),
    vector(`${operation} with a key of 256 characters`, [
      { ...requestOf(operation), key: 'k'.repeat(256), code: 'IDEMPOTENCY_KEY_INVALID' },
    ]),
    vector(`${operation} with a key of 255 characters`, [
      { ...requestOf(operation), key: '~!k'.repeat(85), code: 'OK' },
    ]),
    vector(`${operation} with a space in the key`, [
      { ...requestOf(operation), key: 'a b', code: 'IDEMPOTENCY_KEY_INVALID' },
    ]),
  ]),
  vector('createGeneration with an empty key', [
    { ...requestOf('createGeneration'), key: '', code: 'IDEMPOTENCY_KEY_INVALID' },
  ]),
  vector('a creation sent twice is one generation', [
    ok('createGeneration', { key: 'k', body: PICTURE, save: 'g', replayed: false }),
    ok('createGeneration', {
      key: 'k',
      body: {
        parameters: { size: '96x64' },
        prompt: 'a lighthouse',
        operation: 'image_generation',
        model_key: 'picture',
      },
      replayed: true,
      data: { generation_id: '@g' },
    }),
    ok('getCredits', { data: { balance_credits: 990 } }),
  ]),
  vector('a field that is null is one that was left out', [
    ok('createGeneration', { key: 'k', body: PICTURE, save: 'g' }),
    ok('createGeneration', {
      key: 'k',
      body: { ...PICTURE, negative_prompt: null, client_trace_id: null },
      replayed: true,
      data: { generation_id: '@g' },
    }),
    ok('prepareUpload', { key: 'k', body: { ...PNG_UPLOAD, sha256: null }, save: 'u' }),
    ok('prepareUpload', { key: 'k', body: PNG_UPLOAD, replayed: true, data: { upload_id: '@u' } }),
    ok('completeUpload', { key: 'k', id: '@ready-upload', replayed: false }),
    ok('completeUpload', { key: 'k', id: '@ready-upload', body: { sha256: null }, replayed: true }),
  ]),
  vector('a key used again for something else', [
    ok('createGeneration', { key: 'k', body: PICTURE }),
    refused('createGeneration', 'IDEMPOTENCY_PAYLOAD_MISMATCH', { key: 'k', body: { ...PICTURE, prompt: 'another' } }),
    refused('createGeneration', 'FIELD_INVALID', { key: 'k', body: { ...PICTURE, prompt: '' } }),
    ok('getCredits', { data: { balance_credits: 990 } }),
  ]),
  vector('a key belongs to one App and one operation', [
    ok('createGeneration', { key: 'k', body: PICTURE, save: 'g' }),
    ok('createGeneration', { as: 'other-app', key: 'k', body: { ...PICTURE, prompt: 'another' }, replayed: false }),
    ok('prepareUpload', { key: 'k', body: PNG_UPLOAD, replayed: false }),
    ok('completeUpload', { key: 'k', id: '@ready-upload' }),
  ]),
  vector('a refused creation leaves its key free for a better one', [
    refused('createGeneration', 'CREDITS_INSUFFICIENT', {
      key: 'k',
      as: 'poor',
      body: { ...PICTURE, parameters: { size: '96x64', n: 4 } },
    }),
    ok('createGeneration', { key: 'k', as: 'poor', body: PICTURE, replayed: false }),
  ]),
  vector('a key is answered for a day, and stays taken after it', [
    ok('createGeneration', { key: 'k', body: PICTURE }),
    ok('prepareUpload', { key: 'u', body: PNG_UPLOAD }),
    { event: 'advance', byMs: DAY_MS + 1_000 },
    refused('createGeneration', 'IDEMPOTENCY_REPLAY_EXPIRED', { key: 'k', body: PICTURE }),
    refused('createGeneration', 'IDEMPOTENCY_PAYLOAD_MISMATCH', { key: 'k', body: { ...PICTURE, prompt: 'another' } }),
    refused('prepareUpload', 'IDEMPOTENCY_REPLAY_EXPIRED', { key: 'u', body: PNG_UPLOAD }),
  ]),
  once('the first request of a key is still under way', 'createGeneration', 'IDEMPOTENCY_IN_PROGRESS', {
    key: 'under-way',
    body: PICTURE,
  }),
  once('another request of a key that is under way', 'createGeneration', 'IDEMPOTENCY_PAYLOAD_MISMATCH', {
    key: 'under-way',
    body: { ...PICTURE, prompt: 'another' },
  }),
];
