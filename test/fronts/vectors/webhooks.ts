import type { Json } from '../../../core/json.js';
import { type CallStep, type Vector, ok, once, PICTURE, refused, vector } from './vector.js';

const URL = 'https://receiver.example/hook';
const LONG_AGO = '2020-01-01T00:00:00Z';
const UNKNOWN = '0198c0de-0000-7000-8000-000000000000';
const ENDS = ['generation.succeeded', 'generation.failed', 'generation.cancelled'];

const created = (save: string, body: Json = { url: URL }) => ok('createWebhook', { body, save });
const invalid = (name: string, body: Json, says: string) =>
  once(`createWebhook: ${name}`, 'createWebhook', 'FIELD_INVALID', { body, says });

/** Every operation on one webhook, with an id that the App does not have. */
const OF_ONE: readonly Omit<CallStep, 'code' | 'id'>[] = [
  { operation: 'getWebhook' },
  { operation: 'updateWebhook', body: { enabled: false } },
  { operation: 'deleteWebhook' },
  { operation: 'rotateWebhookSecret' },
  { operation: 'testWebhook' },
  { operation: 'listWebhookDeliveries' },
  { operation: 'replayWebhookDelivery', deliveryId: UNKNOWN },
  { operation: 'replayWebhookDeliveries', body: { created_after: LONG_AGO } },
];

/** Webhooks of an App: how they are stored, their deliveries, and the address of a single generation. */
export const WEBHOOK_VECTORS: readonly Vector[] = [
  vector('a webhook is created, shown without its secret, changed and deleted', [
    {
      ...created('hook', { url: URL, description: 'orders' }),
      data: { url: URL, events: ENDS, status: 'enabled', description: 'orders' },
      without: ['disabled_at', 'failing_since', 'previous_secret_expires_at'],
    },
    ok('getWebhook', { id: '@hook', data: { webhook_id: '@hook', url: URL }, without: ['secret'] }),
    ok('getWebhook', { id: '@HOOK', data: { webhook_id: '@hook' } }),
    ok('listWebhooks', { data: { webhooks: [{ webhook_id: '@own-webhook' }, { webhook_id: '@hook' }] } }),
    ok('updateWebhook', {
      id: '@hook',
      body: { events: ['generation.failed', 'generation.running'], enabled: false, description: '' },
      data: {
        url: URL,
        events: ['generation.running', 'generation.failed'],
        status: 'disabled',
        disabled_because: 'client',
      },
      without: ['description', 'secret'],
    }),
    ok('updateWebhook', {
      id: '@hook',
      body: { enabled: true, url: `${URL}/2` },
      data: { url: `${URL}/2`, status: 'enabled', events: ['generation.running', 'generation.failed'] },
      without: ['disabled_because', 'disabled_at'],
    }),
    ok('deleteWebhook', { id: '@hook', data: { webhook_id: '@hook' } }),
    refused('getWebhook', 'NOT_FOUND', { id: '@hook' }),
    refused('deleteWebhook', 'NOT_FOUND', { id: '@hook' }),
  ]),
  vector('an App has one webhook with an address, and ten in all', [
    created('first'),
    refused('createWebhook', 'CONFLICT', { body: { url: URL }, says: 'has a webhook with this url' }),
    ok('createWebhook', { as: 'other-app', body: { url: URL } }),
    created('second', { url: `${URL}/2` }),
    refused('updateWebhook', 'CONFLICT', { id: '@second', body: { url: URL } }),
    ok('updateWebhook', { id: '@first', body: { url: URL } }),
    ...Array.from({ length: 8 }, (_, n) => created(`more-${n}`, { url: `${URL}/more/${n}` })),
    refused('createWebhook', 'CONFLICT', { body: { url: `${URL}/eleventh` }, says: 'the most it may have' }),
    ok('deleteWebhook', { id: '@first' }),
    created('last', { url: `${URL}/eleventh` }),
  ]),
  vector('a new secret leaves the one before it valid for a day', [
    ok('rotateWebhookSecret', { id: '@own-webhook' }),
    ok('getWebhook', { id: '@own-webhook', data: { status: 'enabled' } }),
    ok('rotateWebhookSecret', { id: 'default', without: ['previous_secret_expires_at'] }),
  ]),
  vector('a test message is sent to a webhook, also to a disabled one, at most ten times a minute', [
    ok('updateWebhook', { id: '@own-webhook', body: { enabled: false } }),
    ...Array.from({ length: 10 }, () =>
      ok('testWebhook', {
        id: '@own-webhook',
        data: { event: 'generation.test', state: 'pending', attempts_made: 0, attempts: [] },
        without: ['url'],
      }),
    ),
    refused('testWebhook', 'RATE_LIMITED', { id: '@own-webhook', says: '10 tests a minute' }),
    refused('createWebhook', 'FIELD_INVALID', { body: { url: URL, events: ['generation.test'] }, says: 'events' }),
    refused('testWebhook', 'NOT_FOUND', { id: 'default', says: 'no webhook with this id' }),
  ]),
  once('createWebhook: no address', 'createWebhook', 'FIELD_REQUIRED', { body: {}, says: 'url' }),
  invalid('an empty address', { url: '' }, 'url'),
  invalid('no address at all', { url: 'receiver' }, 'url must be an address'),
  invalid('an address without TLS', { url: 'http://receiver.example/hook' }, 'url must be'),
  invalid('a long address', { url: `https://receiver.example/${'x'.repeat(2_048)}` }, 'url'),
  invalid('an event that there is not', { url: URL, events: ['generation.queued'] }, 'events'),
  invalid('an event twice', { url: URL, events: ['generation.failed', 'generation.failed'] }, 'events'),
  invalid('a long description', { url: URL, description: 'x'.repeat(201) }, 'description'),
  ...OF_ONE.flatMap((step) =>
    ['@foreign-webhook', '@other-app-webhook', UNKNOWN, 'not-an-id'].map((id) =>
      vector(`${step.operation}: ${id}`, [{ ...step, id, code: 'NOT_FOUND', says: 'no webhook with this id' }]),
    ),
  ),
  vector('deliveries of a webhook are listed by state and time, and sent again', [
    ok('listWebhookDeliveries', {
      id: '@own-webhook',
      data: {
        deliveries: [
          {
            delivery_id: '@own-delivery',
            state: 'exhausted',
            attempts_made: 10,
            attempts: [{ result: 'failed', status: 503 }],
          },
        ],
      },
      without: ['next_cursor'],
    }),
    ok('listWebhookDeliveries', { id: '@own-webhook', query: { state: 'delivered' }, data: { deliveries: [] } }),
    ok('listWebhookDeliveries', {
      id: '@own-webhook',
      query: { state: 'exhausted', created_after: LONG_AGO },
      data: { deliveries: [{ delivery_id: '@own-delivery' }] },
    }),
    ok('listWebhookDeliveries', { id: '@own-webhook', query: { created_before: LONG_AGO }, data: { deliveries: [] } }),
    ok('listWebhookDeliveries', {
      id: '@own-webhook',
      query: { event: 'generation.succeeded', generation_id: '@told-generation' },
      data: { deliveries: [{ delivery_id: '@own-delivery' }] },
    }),
    ok('listWebhookDeliveries', {
      id: '@own-webhook',
      query: { event: 'generation.failed' },
      data: { deliveries: [] },
    }),
    ok('listWebhookDeliveries', { id: '@own-webhook', query: { generation_id: UNKNOWN }, data: { deliveries: [] } }),
    ok('listWebhookDeliveries', {
      id: 'default',
      query: { generation_id: '@told-generation' },
      data: { deliveries: [] },
    }),
    ok('listWebhookDeliveries', { id: 'default', data: { deliveries: [] } }),
    ok('replayWebhookDelivery', {
      id: '@own-webhook',
      deliveryId: '@own-delivery',
      data: { delivery_id: '@own-delivery', state: 'pending', attempts_made: 0 },
    }),
    ok('replayWebhookDeliveries', {
      id: '@own-webhook',
      body: { created_after: LONG_AGO },
      data: { replayed: 1 },
      without: ['next_cursor'],
    }),
    ok('replayWebhookDeliveries', {
      id: '@own-webhook',
      body: { created_after: LONG_AGO, created_before: LONG_AGO },
      data: { replayed: 0 },
    }),
    refused('replayWebhookDelivery', 'NOT_FOUND', {
      id: 'default',
      deliveryId: '@own-delivery',
      says: 'no delivery with this id',
    }),
    refused('replayWebhookDeliveries', 'FIELD_INVALID', {
      id: '@own-webhook',
      body: { created_after: LONG_AGO, cursor: 'x' },
      says: 'earlier page',
    }),
  ]),
  vector('a disabled webhook is told nothing again', [
    ok('updateWebhook', { id: '@own-webhook', body: { enabled: false } }),
    refused('replayWebhookDelivery', 'CONFLICT', { id: '@own-webhook', deliveryId: '@own-delivery', says: 'disabled' }),
    refused('replayWebhookDeliveries', 'CONFLICT', {
      id: '@own-webhook',
      body: { created_after: LONG_AGO },
      says: 'disabled',
    }),
  ]),
  once('listWebhookDeliveries: no such state', 'listWebhookDeliveries', 'FIELD_INVALID', {
    id: '@own-webhook',
    query: { state: 'lost' },
    says: 'state must be one of pending',
  }),
  once('listWebhookDeliveries: no such event', 'listWebhookDeliveries', 'FIELD_INVALID', {
    id: '@own-webhook',
    query: { event: 'generation.queued' },
    says: 'event must be one of',
  }),
  once('listWebhookDeliveries: no such id', 'listWebhookDeliveries', 'FIELD_INVALID', {
    id: '@own-webhook',
    query: { generation_id: '1' },
    says: 'generation_id must be a UUID',
  }),
  once('replayWebhookDeliveries: no beginning', 'replayWebhookDeliveries', 'FIELD_REQUIRED', {
    id: '@own-webhook',
    body: {},
    says: 'created_after',
  }),
  vector('the address of a single generation needs its scope, a default secret and a good address', [
    refused('createGeneration', 'DEVELOPER_SCOPE_INSUFFICIENT', {
      webhookUrl: URL,
      body: PICTURE,
      as: 'only generations:write',
      says: 'webhooks:manage',
    }),
    refused('createGeneration', 'CONFLICT', { webhookUrl: URL, body: PICTURE, says: 'no default webhook secret' }),
    ok('rotateWebhookSecret', { id: 'default' }),
    refused('createGeneration', 'FIELD_INVALID', {
      webhookUrl: 'http://receiver.example/',
      body: PICTURE,
      says: 'The webhook URL of a generation must be',
    }),
    ok('createGeneration', { webhookUrl: URL, key: 'k', body: PICTURE, save: 'told' }),
    ok('createGeneration', {
      webhookUrl: URL,
      key: 'k',
      body: PICTURE,
      replayed: true,
      data: { generation_id: '@told' },
    }),
    refused('createGeneration', 'IDEMPOTENCY_PAYLOAD_MISMATCH', { key: 'k', body: PICTURE }),
    refused('createGeneration', 'IDEMPOTENCY_PAYLOAD_MISMATCH', { webhookUrl: `${URL}/2`, key: 'k', body: PICTURE }),
  ]),
];
