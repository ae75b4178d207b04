import { type Vector, CLIP, HELD_PICTURE, ok, once, PICTURE, refused, vector } from './vector.js';

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
  once('the catalog lists the models', 'listModels', 'OK', {
    as: 'none',
    data: {
      models: [
        { model_key: 'picture', price_unit: 'image', price: 10, limits: { max_outputs: 4, negative_prompt: true } },
      ],
    },
  }),
  once('one model of the catalog', 'getModel', 'OK', {
    id: 'picture',
    as: 'none',
    data: { model_key: 'picture', price_unit: 'image', price: 10, limits: { max_outputs: 4, negative_prompt: true } },
  }),
  ...['Picture', 'pictur', 'picture ', '0198c0de-0000-7000-8000-000000000000', 'a/b'].map((id) =>
    once(`getModel: ${id}`, 'getModel', 'NOT_FOUND', { id }),
  ),
  once('getModel: a key that is nearly one', 'getModel', 'NOT_FOUND', {
    id: 'pictuer',
    says: 'The catalog has no model with this key; similar keys are picture',
  }),
  vector('a followed generation begins with what GET answers', [
    ok('createGeneration', { body: PICTURE, save: 'g' }),
    ok('watchGeneration', { id: '@g', data: { generation_id: '@g', status: 'queued' }, without: OPEN }),
    ok('cancelGeneration', { id: '@g' }),
    ok('watchGeneration', { id: '@g', data: { status: 'cancelled' }, without: ENDED }),
    refused('watchGeneration', 'TASK_NOT_FOUND', { as: 'stranger', id: '@g' }),
  ]),
  vector('a generation that has ended is deleted, and stays charged and in the ledger', [
    { event: 'start-worker' },
    ok('createGeneration', { key: 'k', body: { ...PICTURE, client_trace_id: 'gone' }, save: 'g' }),
    { event: 'await', generation: '@g', status: 'succeeded' },
    refused('deleteGeneration', 'TASK_NOT_FOUND', { as: 'stranger', id: '@g' }),
    refused('deleteGeneration', 'TASK_NOT_FOUND', { as: 'other-app', id: '@g' }),
    ok('deleteGeneration', { id: '@G', data: { generation_id: '@g' } }),
    ...(['getGeneration', 'getThumbnails', 'watchGeneration', 'deleteGeneration'] as const).map((operation) =>
      refused(operation, 'GENERATION_JOB_NOT_FOUND', { id: '@g' }),
    ),
    refused('cancelGeneration', 'TASK_NOT_FOUND', { id: '@g' }),
    refused('getGeneration', 'TASK_NOT_FOUND', { as: 'stranger', id: '@g' }),
    ok('listGenerations', { query: { client_trace_id: 'gone' }, data: { generations: [] } }),
    refused('createGeneration', 'IDEMPOTENCY_REPLAY_EXPIRED', {
      key: 'k',
      body: { ...PICTURE, client_trace_id: 'gone' },
    }),
    ok('getCredits', { data: { available_credits: 990 } }),
    ok('listCreditEntries', {
      query: { limit: '2' },
      data: {
        entries: [
          { kind: 'charge', credits: 10, generation_id: '@g' },
          { kind: 'hold', credits: 10, generation_id: '@g' },
        ],
      },
    }),
  ]),
  once('deleting one that has not ended', 'deleteGeneration', 'CONFLICT', {
    id: '@own-generation',
    says: 'The generation is queued; only one that has ended can be deleted.',
  }),
  ...UNKNOWN_IDS.map((id) => once(`getThumbnails: ${id}`, 'getThumbnails', 'TASK_NOT_FOUND', { id })),
  ...UNKNOWN_IDS.map((id) => once(`deleteGeneration: ${id}`, 'deleteGeneration', 'TASK_NOT_FOUND', { id })),
  once('the balance of an account', 'getCredits', 'OK', {
    data: {
      mode: 'formal',
      balance_credits: 1_000,
      available_credits: 1_000,
      remaining_credits: 1_000,
      currency: 'credits',
    },
  }),
  once('an estimate', 'estimateGeneration', 'OK', {
    body: THREE_PICTURES,
    data: { model_key: 'picture', operation: 'image_generation', estimated_credits: 30, currency: 'credits' },
  }),
  ...(['estimateGeneration', 'createGeneration'] as const).flatMap((operation) => [
    once(`${operation} above the balance`, operation, 'CREDITS_INSUFFICIENT', {
      as: 'poor',
      body: THREE_PICTURES,
      says: 'This would reserve 30 credits; the account has 25 available.',
    }),
    once(`${operation} above a balance that the credential may not read`, operation, 'CREDITS_INSUFFICIENT', {
      as: 'poor-writer',
      body: THREE_PICTURES,
      says: 'This would reserve 30 credits, more than the account has available.',
    }),
  ]),
  vector('a creation reserves its price until the balance is used up', [
    ok('createGeneration', {
      as: 'poor',
      body: { ...PICTURE, parameters: { size: '96x64', n: 2 }, client_trace_id: 'trace-1' },
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
    }),
    ok('getCredits', { as: 'poor', data: { balance_credits: 5, available_credits: 5, remaining_credits: 5 } }),
    refused('createGeneration', 'CREDITS_INSUFFICIENT', {
      as: 'poor',
      body: PICTURE,
      says: 'the account has 5 available',
    }),
  ]),
  vector('a generation that succeeds is charged what was delivered', [
    { event: 'start-worker' },
    ok('createGeneration', { body: { ...PICTURE, parameters: { size: '96x64', n: 2 } }, save: 'g' }),
    { event: 'await', generation: '@g', status: 'succeeded' },
    ok('getGeneration', {
      id: '@g',
      without: [...ENDED, 'error', 'client_trace_id'],
      data: {
        charged_credits: 20,
        outputs: [
          { media_type: 'image', width: 96, height: 64 },
          { media_type: 'image', width: 96, height: 64 },
        ],
      },
    }),
    ok('getThumbnails', { id: '@G', data: { outputs: [{}, {}] } }),
    refused('getThumbnails', 'TASK_NOT_FOUND', { as: 'stranger', id: '@g' }),
    refused('getThumbnails', 'TASK_NOT_FOUND', { as: 'other-app', id: '@g' }),
    ok('cancelGeneration', { id: '@g', data: { status: 'succeeded', charged_credits: 20 } }),
    ok('getCredits', { data: { balance_credits: 980 } }),
  ]),
  vector('a generation that is refused by its provider costs nothing', [
    { event: 'start-worker' },
    ok('createGeneration', { body: { ...PICTURE, model_key: 'picture-refused' }, save: 'g' }),
    { event: 'await', generation: '@g', status: 'failed' },
    ok('getGeneration', {
      id: '@g',
      without: ENDED,
      data: { charged_credits: 0, outputs: [], error: { code: 'CONTENT_REJECTED_INPUT', retryable: false } },
    }),
    ok('getCredits', { data: { balance_credits: 1_000 } }),
  ]),
  vector('a queued generation is cancelled at once, and again to no effect', [
    ok('createGeneration', { body: CLIP, save: 'g', data: { modality: 'video', reserved_credits: 11 } }),
    ok('cancelGeneration', {
      id: '@g',
      without: [...ENDED, 'error'],
      data: { status: 'cancelled', charged_credits: 0, outputs: [] },
    }),
    ok('cancelGeneration', { id: '@g', data: { status: 'cancelled', charged_credits: 0 } }),
    ok('getCredits', { data: { balance_credits: 1_000 } }),
  ]),
  vector('a running generation is cancelled when its provider stops', [
    { event: 'start-worker' },
    ok('createGeneration', { body: HELD_PICTURE, save: 'g' }),
    { event: 'await', generation: '@g', status: 'running' },
    ok('cancelGeneration', { id: '@g' }),
    { event: 'await', generation: '@g', status: 'cancelled' },
    ok('getGeneration', { id: '@g', data: { charged_credits: 0, outputs: [] } }),
    ok('getCredits', { data: { balance_credits: 1_000 } }),
  ]),
  once('an id in capitals is the same id', 'getGeneration', 'OK', {
    id: '@OWN-GENERATION',
    data: { generation_id: '@own-generation' },
  }),
  once('a generation past its retention', 'getGeneration', 'GENERATION_JOB_NOT_FOUND', { id: '@expired-generation' }),
  once('cancelling a generation past its retention', 'cancelGeneration', 'TASK_NOT_FOUND', {
    id: '@expired-generation',
  }),
  once("a stranger's generation past its retention", 'getGeneration', 'TASK_NOT_FOUND', {
    as: 'stranger',
    id: '@expired-generation',
  }),
  ...UNKNOWN_IDS.flatMap((id) => [
    once(`the status of ${id}`, 'getGeneration', 'TASK_NOT_FOUND', { id }),
    once(`cancelling ${id}`, 'cancelGeneration', 'TASK_NOT_FOUND', { id }),
  ]),
  once('cancelling estimate', 'cancelGeneration', 'TASK_NOT_FOUND', { id: 'estimate' }),
  {
    name: 'more open generations than an account may have',
    settings: { maxOpenGenerationsPerAccount: 2 },
    steps: [
      ok('createGeneration', { as: 'stranger', body: PICTURE, save: 'g' }),
      ok('createGeneration', { as: 'stranger', body: PICTURE }),
      refused('createGeneration', 'QUEUE_FULL', { as: 'stranger', body: PICTURE, key: 'third' }),
      ok('cancelGeneration', { as: 'stranger', id: '@g' }),
      ok('createGeneration', { as: 'stranger', body: PICTURE, key: 'third', replayed: false }),
    ],
  },
];
