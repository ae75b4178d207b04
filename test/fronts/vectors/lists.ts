import { type Vector, HELD_PICTURE, ok, once, PICTURE, refused, vector } from './vector.js';

const made = (save: string, client_trace_id: string, body: object = PICTURE) =>
  ok('createGeneration', { body: { ...body, client_trace_id }, save });
const LATER = { event: 'advance', byMs: 10 } as const;
const of = (...names: readonly string[]) => ({ generations: names.map((name) => ({ generation_id: `@${name}` })) });

const UNUSED = { generations: 0, failed: 0, reserved_credits: 0, charged_credits: 0, released_credits: 0 };
/** The usage of one cancelled and one open generation. */
const USED = { generations: 2, failed: 0, reserved_credits: 30, charged_credits: 0, released_credits: 20 };

/** Lists, as clients read them: in order, by page and by filter, and of their own App only. */
/** Vectors of the books of a whole account, which a connected program does not see. */
export const OF_THE_ACCOUNT = {
  ledger: 'the ledger of the account, newest first, in pages that reconcile',
  usage: 'usage adds up the entries of the account, also those of its other Apps, by day, model and key',
} as const;

export const LIST_VECTORS: readonly Vector[] = [
  vector('generations are listed newest first, in pages', [
    made('first', 'a'),
    LATER,
    made('second', 'b'),
    LATER,
    made('third', 'c', HELD_PICTURE),
    ok('listGenerations', { data: of('third', 'second', 'first', 'own-generation', 'ended-generation') }),
    ok('listGenerations', { query: { limit: '2' }, data: of('third', 'second'), save: 'next' }),
    LATER,
    made('fourth', 'd'),
    ok('listGenerations', {
      query: { limit: '2', cursor: '@next' },
      data: of('first', 'own-generation'),
      save: 'last',
    }),
    ok('listGenerations', {
      query: { limit: '2', cursor: '@last' },
      data: of('ended-generation'),
      without: ['next_cursor'],
    }),
    refused('listGenerations', 'FIELD_INVALID', {
      query: { limit: '2', cursor: '@next', status: 'queued' },
      says: 'must come from an earlier page of the same list',
    }),
    ok('listGenerations', { as: 'other-app', data: of('other-app-generation') }),
    refused('listGenerations', 'FIELD_INVALID', {
      as: 'stranger',
      query: { cursor: '@next' },
      says: 'must come from an earlier page of the same list',
    }),
  ]),
  vector('a listed generation is what GET answers', [
    made('one', 'a', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
    ok('listGenerations', {
      query: { limit: '1' },
      data: {
        generations: [
          {
            generation_id: '@one',
            status: 'queued',
            model_key: 'picture',
            reserved_credits: 20,
            charged_credits: 0,
            outputs: [],
            client_trace_id: 'a',
          },
        ],
      },
    }),
  ]),
  vector('generations are found by each filter, and by all of them', [
    made('one', 'mine:1'),
    LATER,
    made('two', 'mine:1', HELD_PICTURE),
    LATER,
    made('three', 'mine:2', HELD_PICTURE),
    ok('cancelGeneration', { id: '@two' }),
    ok('listGenerations', { query: { client_trace_id: 'mine:1' }, data: of('two', 'one') }),
    ok('listGenerations', { query: { model_key: 'picture-held' }, data: of('three', 'two') }),
    ok('listGenerations', { query: { status: 'cancelled' }, data: of('two', 'ended-generation') }),
    ok('listGenerations', {
      query: { model_key: 'picture-held', status: 'queued', client_trace_id: 'mine:2' },
      data: of('three'),
    }),
    ok('listGenerations', {
      query: { model_key: 'picture', status: 'cancelled', client_trace_id: 'mine:1' },
      data: of(),
      without: ['next_cursor'],
    }),
    ...[{ client_trace_id: 'mine' }, { model_key: 'gone' }, { status: 'running' }].map((query) =>
      ok('listGenerations', { query, data: of() }),
    ),
    ok('listGenerations', {
      query: { created_after: '2020-01-01T00:00:00Z', client_trace_id: 'mine:2' },
      data: of('three'),
    }),
    ok('listGenerations', { query: { created_before: '2020-01-01T00:00:00.000Z' }, data: of() }),
    ...['client_trace_id', 'model_key'].map((name) =>
      refused('listGenerations', 'FIELD_INVALID', {
        query: { [name]: 'mine\0' },
        says: `${name} must be text without NUL characters and lone surrogates`,
      }),
    ),
  ]),
  vector(OF_THE_ACCOUNT.ledger, [
    made('one', 'mine:1', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
    ok('cancelGeneration', { id: '@one' }),
    ok('createGeneration', { as: 'other-app', body: PICTURE, save: 'two' }),
    ok('listCreditEntries', {
      query: { limit: '3' },
      data: {
        entries: [
          { kind: 'hold', credits: 10, available_change: -10, available_after: 990, generation_id: '@two' },
          {
            kind: 'release',
            credits: 20,
            available_change: 20,
            available_after: 1_000,
            generation_id: '@one',
            model_key: 'picture',
            client_trace_id: 'mine:1',
          },
          { kind: 'hold', credits: 20, available_change: -20, available_after: 980, generation_id: '@one' },
        ],
        opening_credits: 1_000,
        closing_credits: 990,
      },
      save: 'next',
    }),
    ok('listCreditEntries', {
      query: { cursor: '@next', limit: '100' },
      data: { opening_credits: 0, closing_credits: 1_000 },
      without: ['next_cursor'],
    }),
    refused('listCreditEntries', 'FIELD_INVALID', {
      as: 'stranger',
      query: { cursor: '@next' },
      says: 'must come from an earlier page of the same list',
    }),
    refused('listGenerations', 'FIELD_INVALID', { query: { cursor: '@next' } }),
  ]),
  vector(OF_THE_ACCOUNT.usage, [
    made('one', 'mine:1', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
    ok('cancelGeneration', { id: '@one' }),
    ok('createGeneration', { as: 'other-app', body: PICTURE }),
    ok('getUsage', { as: 'stranger', data: { usage: [], total: UNUSED }, without: ['next_cursor'] }),
    ...(['day', 'model'] as const).map((by) => ({
      operation: 'getUsage' as const,
      query: { by },
      code: 'OK' as const,
      data: { usage: [{ ...(by === 'model' ? { model_key: 'picture' } : {}), ...USED }], total: USED },
      without: ['next_cursor'],
    })),
    ok('getUsage', { query: { by: 'modality' }, data: { usage: [{ modality: 'image', ...USED }], total: USED } }),
    ok('getUsage', { query: { by: 'day_modality' }, data: { usage: [{ modality: 'image', ...USED }], total: USED } }),
    ok('getUsage', { query: { by: 'key', limit: '1' }, data: { total: USED }, save: 'next' }),
    ok('getUsage', {
      query: { by: 'key', limit: '1', cursor: '@next' },
      data: { total: USED },
      without: ['next_cursor'],
    }),
    refused('getUsage', 'FIELD_INVALID', { query: { by: 'model', cursor: '@next' } }),
    ok('getUsage', {
      query: { from: '2001-01-01', to: '2001-12-31' },
      data: { from: '2001-01-01', to: '2001-12-31', usage: [], total: UNUSED },
    }),
  ]),
  vector('usage by trace id has a row for each, and one for what has none, on pages of every size', [
    made('one', 'mine:2'),
    made('two', 'mine:1', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
    ok('cancelGeneration', { id: '@two' }),
    ok('createGeneration', { body: PICTURE }),
    ok('getUsage', {
      query: { by: 'client_trace_id' },
      data: {
        by: 'client_trace_id',
        usage: [
          { ...UNUSED, generations: 1, reserved_credits: 10 },
          { ...UNUSED, client_trace_id: 'mine:1', generations: 1, reserved_credits: 20, released_credits: 20 },
          { ...UNUSED, client_trace_id: 'mine:2', generations: 1, reserved_credits: 10 },
        ],
        total: { ...UNUSED, generations: 3, reserved_credits: 40, released_credits: 20 },
      },
      without: ['next_cursor'],
    }),
    ok('getUsage', { query: { by: 'client_trace_id', limit: '1' }, save: 'behind-none' }),
    ok('getUsage', {
      query: { by: 'client_trace_id', limit: '1', cursor: '@behind-none' },
      data: { usage: [{ client_trace_id: 'mine:1' }] },
      save: 'behind-first',
    }),
    ok('getUsage', {
      query: { by: 'client_trace_id', limit: '1', cursor: '@behind-first' },
      data: { usage: [{ client_trace_id: 'mine:2' }] },
      without: ['next_cursor'],
    }),
    refused('getUsage', 'FIELD_INVALID', { query: { by: 'key', cursor: '@behind-first' } }),
  ]),
  ...(
    [
      [{ by: 'week' }, 'by must be one of day, model, key, client_trace_id, modality, day_modality.'],
      [{ from: '2026-02-30' }, 'from must be a day such as 2026-01-31.'],
      [{ to: '2026-01-31T00:00:00Z' }, 'to must be a day such as 2026-01-31.'],
      [{ from: '2026-01-02', to: '2026-01-01' }, 'to must not be before from.'],
      [{ from: '2025-01-01', to: '2026-01-02' }, 'at most 366 days'],
      [{ by: 'client_trace_id', from: '2026-01-01', to: '2026-02-01' }, 'at most 31 days by client_trace_id'],
    ] as const
  ).map(([query, says]) =>
    once(`getUsage with ${JSON.stringify(query)}`, 'getUsage', 'FIELD_INVALID', { query, says }),
  ),
  ...(
    [
      ['status', 'done'],
      ['model_key', 'x'.repeat(201)],
      ['client_trace_id', 'x'.repeat(129)],
      ['cursor', 'x'],
    ] as const
  ).map(([name, value]) =>
    once(
      `listGenerations with ${name}: ${value.slice(0, 10)}, ${value.length} characters`,
      'listGenerations',
      'FIELD_INVALID',
      { query: { [name]: value } },
    ),
  ),
];
