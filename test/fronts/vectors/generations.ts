import type { Vector } from './vector.js';
import { CLIP, HELD_PICTURE, once, PICTURE } from './vector.js';

const UNKNOWN_IDS = [
  '0198c0de-0000-7000-8000-000000000000',
  '00000000-0000-0000-0000-000000000000',
  'not-an-id',
  '%00',
  '{@own-generation}',
  '@foreign-generation',
  '@other-app-generation',
  '@void-generation',
];

const THREE_PICTURES = { ...PICTURE, parameters: { size: '96x64', n: 3 } };

const ENDED = ['poll_after_ms'];
const OPEN = ['completed_at', 'error'];

/** A generation from its creation to each of its ends, its price and who may see it. */
export const GENERATION_VECTORS: readonly Vector[] = [
  once('the catalog lists the models', {
    operation: 'listModels',
    as: 'none',
    code: 'OK',
    data: {
      models: [
        { model_key: 'picture', price_unit: 'image', price: 10, limits: { max_outputs: 4, negative_prompt: true } },
      ],
    },
  }),
  once('one model of the catalog', {
    operation: 'getModel',
    id: 'picture',
    as: 'none',
    code: 'OK',
    data: { model_key: 'picture', price_unit: 'image', price: 10, limits: { max_outputs: 4, negative_prompt: true } },
  }),
  ...['Picture', 'pictur', 'picture ', '0198c0de-0000-7000-8000-000000000000', 'a/b'].map((id) =>
    once(`getModel: ${id}`, { operation: 'getModel', id, code: 'NOT_FOUND' }),
  ),
  once('getModel: a key that is nearly one', {
    operation: 'getModel',
    id: 'pictuer',
    code: 'NOT_FOUND',
    says: 'The catalog has no model with this key; similar keys are picture',
  }),
  {
    name: 'a followed generation begins with what GET answers',
    steps: [
      { operation: 'createGeneration', body: PICTURE, code: 'OK', save: 'g' },
      {
        operation: 'watchGeneration',
        id: '@g',
        code: 'OK',
        data: { generation_id: '@g', status: 'queued' },
        without: OPEN,
      },
      { operation: 'cancelGeneration', id: '@g', code: 'OK' },
      { operation: 'watchGeneration', id: '@g', code: 'OK', data: { status: 'cancelled' }, without: ENDED },
      { operation: 'watchGeneration', as: 'stranger', id: '@g', code: 'TASK_NOT_FOUND' },
    ],
  },
  {
    name: 'a generation that has ended is deleted, and stays charged and in the ledger',
    steps: [
      { event: 'start-worker' },
      { operation: 'createGeneration', key: 'k', body: { ...PICTURE, client_trace_id: 'gone' }, code: 'OK', save: 'g' },
      { event: 'await', generation: '@g', status: 'succeeded' },
      { operation: 'deleteGeneration', as: 'stranger', id: '@g', code: 'TASK_NOT_FOUND' },
      { operation: 'deleteGeneration', as: 'other-app', id: '@g', code: 'TASK_NOT_FOUND' },
      { operation: 'deleteGeneration', id: '@G', code: 'OK', data: { generation_id: '@g' } },
      ...(['getGeneration', 'watchGeneration', 'deleteGeneration'] as const).map(
        (operation) => ({ operation, id: '@g', code: 'GENERATION_JOB_NOT_FOUND' }) as const,
      ),
      { operation: 'cancelGeneration', id: '@g', code: 'TASK_NOT_FOUND' },
      { operation: 'getGeneration', as: 'stranger', id: '@g', code: 'TASK_NOT_FOUND' },
      { operation: 'listGenerations', query: { client_trace_id: 'gone' }, code: 'OK', data: { generations: [] } },
      {
        operation: 'createGeneration',
        key: 'k',
        body: { ...PICTURE, client_trace_id: 'gone' },
        code: 'IDEMPOTENCY_REPLAY_EXPIRED',
      },
      { operation: 'getCredits', code: 'OK', data: { available_credits: 990 } },
      {
        operation: 'listCreditEntries',
        query: { limit: '2' },
        code: 'OK',
        data: {
          entries: [
            { kind: 'charge', credits: 10, generation_id: '@g' },
            { kind: 'hold', credits: 10, generation_id: '@g' },
          ],
        },
      },
    ],
  },
  once('deleting one that has not ended', {
    operation: 'deleteGeneration',
    id: '@own-generation',
    code: 'CONFLICT',
    says: 'The generation is queued; only one that has ended can be deleted.',
  }),
  ...UNKNOWN_IDS.map((id) =>
    once(`deleteGeneration: ${id}`, { operation: 'deleteGeneration', id, code: 'TASK_NOT_FOUND' }),
  ),
  once('the balance of an account', {
    operation: 'getCredits',
    code: 'OK',
    data: {
      mode: 'formal',
      balance_credits: 1_000,
      available_credits: 1_000,
      remaining_credits: 1_000,
      currency: 'credits',
    },
  }),
  once('an estimate', {
    operation: 'estimateGeneration',
    body: THREE_PICTURES,
    code: 'OK',
    data: { model_key: 'picture', operation: 'image_generation', estimated_credits: 30, currency: 'credits' },
  }),
  ...(['estimateGeneration', 'createGeneration'] as const).flatMap((operation) => [
    once(`${operation} above the balance`, {
      operation,
      as: 'poor',
      body: THREE_PICTURES,
      code: 'CREDITS_INSUFFICIENT',
      says: 'This would reserve 30 credits; the account has 25 available.',
    }),
    once(`${operation} above a balance that the credential may not read`, {
      operation,
      as: 'poor-writer',
      body: THREE_PICTURES,
      code: 'CREDITS_INSUFFICIENT',
      says: 'This would reserve 30 credits, more than the account has available.',
    }),
  ]),
  {
    name: 'a creation reserves its price until the balance is used up',
    steps: [
      {
        operation: 'createGeneration',
        as: 'poor',
        body: { ...PICTURE, parameters: { size: '96x64', n: 2 }, client_trace_id: 'trace-1' },
        code: 'OK',
        without: OPEN,
        replayed: false,
        data: {
          status: 'queued',
          model_key: 'picture',
          modality: 'image',
          operation: 'image_generation',
          estimated_credits: 20,
          reserved_credits: 20,
          charged_credits: 0,
          poll_after_ms: 2_000,
          outputs: [],
          client_trace_id: 'trace-1',
        },
      },
      {
        operation: 'getCredits',
        as: 'poor',
        code: 'OK',
        data: { balance_credits: 5, available_credits: 5, remaining_credits: 5 },
      },
      {
        operation: 'createGeneration',
        as: 'poor',
        body: PICTURE,
        code: 'CREDITS_INSUFFICIENT',
        says: 'the account has 5 available',
      },
    ],
  },
  {
    name: 'a generation that succeeds is charged what was delivered',
    steps: [
      { event: 'start-worker' },
      {
        operation: 'createGeneration',
        body: { ...PICTURE, parameters: { size: '96x64', n: 2 } },
        code: 'OK',
        save: 'g',
      },
      { event: 'await', generation: '@g', status: 'succeeded' },
      {
        operation: 'getGeneration',
        id: '@g',
        code: 'OK',
        without: [...ENDED, 'error', 'client_trace_id'],
        data: {
          charged_credits: 20,
          outputs: [
            { media_type: 'image', width: 96, height: 64 },
            { media_type: 'image', width: 96, height: 64 },
          ],
        },
      },
      { operation: 'cancelGeneration', id: '@g', code: 'OK', data: { status: 'succeeded', charged_credits: 20 } },
      { operation: 'getCredits', code: 'OK', data: { balance_credits: 980 } },
    ],
  },
  {
    name: 'a generation that is refused by its provider costs nothing',
    steps: [
      { event: 'start-worker' },
      { operation: 'createGeneration', body: { ...PICTURE, model_key: 'picture-refused' }, code: 'OK', save: 'g' },
      { event: 'await', generation: '@g', status: 'failed' },
      {
        operation: 'getGeneration',
        id: '@g',
        code: 'OK',
        without: ENDED,
        data: { charged_credits: 0, outputs: [], error: { code: 'CONTENT_REJECTED_INPUT', retryable: false } },
      },
      { operation: 'getCredits', code: 'OK', data: { balance_credits: 1_000 } },
    ],
  },
  {
    name: 'a queued generation is cancelled at once, and again to no effect',
    steps: [
      {
        operation: 'createGeneration',
        body: CLIP,
        code: 'OK',
        save: 'g',
        data: { modality: 'video', reserved_credits: 11 },
      },
      {
        operation: 'cancelGeneration',
        id: '@g',
        code: 'OK',
        without: [...ENDED, 'error'],
        data: { status: 'cancelled', charged_credits: 0, outputs: [] },
      },
      { operation: 'cancelGeneration', id: '@g', code: 'OK', data: { status: 'cancelled', charged_credits: 0 } },
      { operation: 'getCredits', code: 'OK', data: { balance_credits: 1_000 } },
    ],
  },
  {
    name: 'a running generation is cancelled when its provider stops',
    steps: [
      { event: 'start-worker' },
      { operation: 'createGeneration', body: HELD_PICTURE, code: 'OK', save: 'g' },
      { event: 'await', generation: '@g', status: 'running' },
      { operation: 'cancelGeneration', id: '@g', code: 'OK' },
      { event: 'await', generation: '@g', status: 'cancelled' },
      { operation: 'getGeneration', id: '@g', code: 'OK', data: { charged_credits: 0, outputs: [] } },
      { operation: 'getCredits', code: 'OK', data: { balance_credits: 1_000 } },
    ],
  },
  once('an id in capitals is the same id', {
    operation: 'getGeneration',
    id: '@OWN-GENERATION',
    code: 'OK',
    data: { generation_id: '@own-generation' },
  }),
  once('a generation past its retention', {
    operation: 'getGeneration',
    id: '@expired-generation',
    code: 'GENERATION_JOB_NOT_FOUND',
  }),
  once('cancelling a generation past its retention', {
    operation: 'cancelGeneration',
    id: '@expired-generation',
    code: 'TASK_NOT_FOUND',
  }),
  once("a stranger's generation past its retention", {
    operation: 'getGeneration',
    as: 'stranger',
    id: '@expired-generation',
    code: 'TASK_NOT_FOUND',
  }),
  ...UNKNOWN_IDS.flatMap((id) => [
    once(`the status of ${id}`, { operation: 'getGeneration', id, code: 'TASK_NOT_FOUND' }),
    once(`cancelling ${id}`, { operation: 'cancelGeneration', id, code: 'TASK_NOT_FOUND' }),
  ]),
  once('cancelling estimate', { operation: 'cancelGeneration', id: 'estimate', code: 'TASK_NOT_FOUND' }),
  {
    name: 'more open generations than an account may have',
    settings: { maxOpenGenerationsPerAccount: 2 },
    steps: [
      { operation: 'createGeneration', as: 'stranger', body: PICTURE, code: 'OK', save: 'g' },
      { operation: 'createGeneration', as: 'stranger', body: PICTURE, code: 'OK' },
      { operation: 'createGeneration', as: 'stranger', body: PICTURE, key: 'third', code: 'QUEUE_FULL' },
      { operation: 'cancelGeneration', as: 'stranger', id: '@g', code: 'OK' },
      { operation: 'createGeneration', as: 'stranger', body: PICTURE, key: 'third', code: 'OK', replayed: false },
    ],
  },
];
