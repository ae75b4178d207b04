import type { Vector } from './vector.js';
import { HELD_PICTURE, once, PICTURE } from './vector.js';

const made = (save: string, client_trace_id: string, body: object = PICTURE) =>
  ({ operation: 'createGeneration', body: { ...body, client_trace_id }, code: 'OK', save }) as const;
const LATER = { event: 'advance', byMs: 10 } as const;
const of = (...names: readonly string[]) => ({ generations: names.map((name) => ({ generation_id: `@${name}` })) });

const UNUSED = { generations: 0, failed: 0, reserved_credits: 0, charged_credits: 0, released_credits: 0 };
/** The usage of one cancelled and one open generation. */
const USED = { generations: 2, failed: 0, reserved_credits: 30, charged_credits: 0, released_credits: 20 };

/** Lists, as clients read them: in order, by page and by filter, and of their own App only. */
export const LIST_VECTORS: readonly Vector[] = [
  {
    name: 'generations are listed newest first, in pages',
    steps: [
      made('first', 'a'),
      LATER,
      made('second', 'b'),
      LATER,
      made('third', 'c', HELD_PICTURE),
      {
        operation: 'listGenerations',
        code: 'OK',
        data: of('third', 'second', 'first', 'own-generation', 'ended-generation'),
      },
      { operation: 'listGenerations', query: { limit: '2' }, code: 'OK', data: of('third', 'second'), save: 'next' },
      LATER,
      made('fourth', 'd'),
      {
        operation: 'listGenerations',
        query: { limit: '2', cursor: '@next' },
        code: 'OK',
        data: of('first', 'own-generation'),
        save: 'last',
      },
      {
        operation: 'listGenerations',
        query: { limit: '2', cursor: '@last' },
        code: 'OK',
        data: of('ended-generation'),
        without: ['next_cursor'],
      },
      {
        operation: 'listGenerations',
        query: { limit: '2', cursor: '@next', status: 'queued' },
        code: 'FIELD_INVALID',
        says: 'must come from an earlier page of the same list',
      },
      { operation: 'listGenerations', as: 'other-app', code: 'OK', data: of('other-app-generation') },
      {
        operation: 'listGenerations',
        as: 'stranger',
        query: { cursor: '@next' },
        code: 'FIELD_INVALID',
        says: 'must come from an earlier page of the same list',
      },
    ],
  },
  {
    name: 'a listed generation is what GET answers',
    steps: [
      made('one', 'a', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
      {
        operation: 'listGenerations',
        query: { limit: '1' },
        code: 'OK',
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
      },
    ],
  },
  {
    name: 'generations are found by each filter, and by all of them',
    steps: [
      made('one', 'mine:1'),
      LATER,
      made('two', 'mine:1', HELD_PICTURE),
      LATER,
      made('three', 'mine:2', HELD_PICTURE),
      { operation: 'cancelGeneration', id: '@two', code: 'OK' },
      { operation: 'listGenerations', query: { client_trace_id: 'mine:1' }, code: 'OK', data: of('two', 'one') },
      { operation: 'listGenerations', query: { model_key: 'picture-held' }, code: 'OK', data: of('three', 'two') },
      {
        operation: 'listGenerations',
        query: { status: 'cancelled' },
        code: 'OK',
        data: of('two', 'ended-generation'),
      },
      {
        operation: 'listGenerations',
        query: { model_key: 'picture-held', status: 'queued', client_trace_id: 'mine:2' },
        code: 'OK',
        data: of('three'),
      },
      {
        operation: 'listGenerations',
        query: { model_key: 'picture', status: 'cancelled', client_trace_id: 'mine:1' },
        code: 'OK',
        data: of(),
        without: ['next_cursor'],
      },
      ...[{ client_trace_id: 'mine' }, { model_key: 'gone' }, { status: 'running' }].map(
        (query) => ({ operation: 'listGenerations', query, code: 'OK', data: of() }) as const,
      ),
      {
        operation: 'listGenerations',
        query: { created_after: '2020-01-01T00:00:00Z', client_trace_id: 'mine:2' },
        code: 'OK',
        data: of('three'),
      },
      {
        operation: 'listGenerations',
        query: { created_before: '2020-01-01T00:00:00.000Z' },
        code: 'OK',
        data: of(),
      },
    ],
  },
  {
    name: 'the ledger of the account, newest first, in pages that reconcile',
    steps: [
      made('one', 'mine:1', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
      { operation: 'cancelGeneration', id: '@one', code: 'OK' },
      { operation: 'createGeneration', as: 'other-app', body: PICTURE, code: 'OK', save: 'two' },
      {
        operation: 'listCreditEntries',
        query: { limit: '3' },
        code: 'OK',
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
      },
      {
        operation: 'listCreditEntries',
        query: { cursor: '@next', limit: '100' },
        code: 'OK',
        data: { opening_credits: 0, closing_credits: 1_000 },
        without: ['next_cursor'],
      },
      {
        operation: 'listCreditEntries',
        as: 'stranger',
        query: { cursor: '@next' },
        code: 'FIELD_INVALID',
        says: 'must come from an earlier page of the same list',
      },
      { operation: 'listGenerations', query: { cursor: '@next' }, code: 'FIELD_INVALID' },
    ],
  },
  {
    name: 'usage adds up the entries of the account, also those of its other Apps, by day, model and key',
    steps: [
      made('one', 'mine:1', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
      { operation: 'cancelGeneration', id: '@one', code: 'OK' },
      { operation: 'createGeneration', as: 'other-app', body: PICTURE, code: 'OK' },
      {
        operation: 'getUsage',
        as: 'stranger',
        code: 'OK',
        data: { usage: [], total: UNUSED },
        without: ['next_cursor'],
      },
      ...(['day', 'model'] as const).map((by) => ({
        operation: 'getUsage' as const,
        query: { by },
        code: 'OK' as const,
        data: { usage: [{ ...(by === 'model' ? { model_key: 'picture' } : {}), ...USED }], total: USED },
        without: ['next_cursor'],
      })),
      { operation: 'getUsage', query: { by: 'key', limit: '1' }, code: 'OK', data: { total: USED }, save: 'next' },
      {
        operation: 'getUsage',
        query: { by: 'key', limit: '1', cursor: '@next' },
        code: 'OK',
        data: { total: USED },
        without: ['next_cursor'],
      },
      { operation: 'getUsage', query: { by: 'model', cursor: '@next' }, code: 'FIELD_INVALID' },
      {
        operation: 'getUsage',
        query: { from: '2001-01-01', to: '2001-12-31' },
        code: 'OK',
        data: { from: '2001-01-01', to: '2001-12-31', usage: [], total: UNUSED },
      },
    ],
  },
  {
    name: 'usage by trace id has a row for each, and one for what has none, on pages of every size',
    steps: [
      made('one', 'mine:2'),
      made('two', 'mine:1', { ...PICTURE, parameters: { size: '96x64', n: 2 } }),
      { operation: 'cancelGeneration', id: '@two', code: 'OK' },
      { operation: 'createGeneration', body: PICTURE, code: 'OK' },
      {
        operation: 'getUsage',
        query: { by: 'client_trace_id' },
        code: 'OK',
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
      },
      { operation: 'getUsage', query: { by: 'client_trace_id', limit: '1' }, code: 'OK', save: 'behind-none' },
      {
        operation: 'getUsage',
        query: { by: 'client_trace_id', limit: '1', cursor: '@behind-none' },
        code: 'OK',
        data: { usage: [{ client_trace_id: 'mine:1' }] },
        save: 'behind-first',
      },
      {
        operation: 'getUsage',
        query: { by: 'client_trace_id', limit: '1', cursor: '@behind-first' },
        code: 'OK',
        data: { usage: [{ client_trace_id: 'mine:2' }] },
        without: ['next_cursor'],
      },
      { operation: 'getUsage', query: { by: 'key', cursor: '@behind-first' }, code: 'FIELD_INVALID' },
    ],
  },
  ...(
    [
      [{ by: 'week' }, 'by must be one of day, model, key, client_trace_id.'],
      [{ from: '2026-02-30' }, 'from must be a day such as 2026-01-31.'],
      [{ to: '2026-01-31T00:00:00Z' }, 'to must be a day such as 2026-01-31.'],
      [{ from: '2026-01-02', to: '2026-01-01' }, 'to must not be before from.'],
      [{ from: '2025-01-01', to: '2026-01-02' }, 'at most 366 days'],
      [{ by: 'client_trace_id', from: '2026-01-01', to: '2026-02-01' }, 'at most 31 days by client_trace_id'],
    ] as const
  ).map(([query, says]) =>
    once(`getUsage with ${JSON.stringify(query)}`, { operation: 'getUsage', query, code: 'FIELD_INVALID', says }),
  ),
  ...(
    [
      ['status', 'done'],
      ['model_key', 'x'.repeat(201)],
      ['client_trace_id', 'x'.repeat(129)],
      ['cursor', 'x'],
    ] as const
  ).map(([name, value]) =>
    once(`listGenerations with ${name}: ${value.slice(0, 10)}, ${value.length} characters`, {
      operation: 'listGenerations',
      query: { [name]: value },
      code: 'FIELD_INVALID',
    }),
  ),
];
