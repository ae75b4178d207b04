import type { Json } from '../../../core/json.js';
import { type CallStep, once, PICTURE, type Vector } from './vector.js';

const URL = 'https://receiver.example/hook';
const LONG_AGO = '2020-01-01T00:00:00Z';
const UNKNOWN = '0198c0de-0000-7000-8000-000000000000';
const ENDS = ['generation.succeeded', 'generation.failed', 'generation.cancelled'];

const created = (save: string, body: Json = { url: URL }) =>
  ({ operation: 'createWebhook', body, code: 'OK', save }) as const;
const invalid = (name: string, body: Json, says: string) =>
  once(`createWebhook: ${name}`, { operation: 'createWebhook', body, code: 'FIELD_INVALID', says });

/** Every operation on one webhook, with an id that the App does not have. */
const OF_ONE: readonly Omit<CallStep, 'code' | 'id'>[] = [
  { operation: 'getWebhook' },
  { operation: 'updateWebhook', body: { enabled: false } },
  { operation: 'deleteWebhook' },
  { operation: 'rotateWebhookSecret' },
  { operation: 'listWebhookDeliveries' },
  { operation: 'replayWebhookDelivery', deliveryId: UNKNOWN },
  { operation: 'replayWebhookDeliveries', body: { created_after: LONG_AGO } },
];

/** Webhooks of an App: how they are stored, their deliveries, and the address of a single generation. */
export const WEBHOOK_VECTORS: readonly Vector[] = [
  {
    name: 'a webhook is created, shown without its secret, changed and deleted',
    steps: [
      {
        ...created('hook', { url: URL, description: 'orders' }),
        data: { url: URL, events: ENDS, status: 'enabled', description: 'orders' },
        without: ['disabled_at', 'failing_since', 'previous_secret_expires_at'],
      },
      {
        operation: 'getWebhook',
        id: '@hook',
        code: 'OK',
        data: { webhook_id: '@hook', url: URL },
        without: ['secret'],
      },
      { operation: 'getWebhook', id: '@HOOK', code: 'OK', data: { webhook_id: '@hook' } },
      {
        operation: 'listWebhooks',
        code: 'OK',
        data: { webhooks: [{ webhook_id: '@own-webhook' }, { webhook_id: '@hook' }] },
      },
      {
        operation: 'updateWebhook',
        id: '@hook',
        body: { events: ['generation.failed', 'generation.running'], enabled: false, description: '' },
        code: 'OK',
        data: {
          url: URL,
          events: ['generation.running', 'generation.failed'],
          status: 'disabled',
          disabled_because: 'client',
        },
        without: ['description', 'secret'],
      },
      {
        operation: 'updateWebhook',
        id: '@hook',
        body: { enabled: true, url: `${URL}/2` },
        code: 'OK',
        data: { url: `${URL}/2`, status: 'enabled', events: ['generation.running', 'generation.failed'] },
        without: ['disabled_because', 'disabled_at'],
      },
      { operation: 'deleteWebhook', id: '@hook', code: 'OK', data: { webhook_id: '@hook' } },
      { operation: 'getWebhook', id: '@hook', code: 'NOT_FOUND' },
      { operation: 'deleteWebhook', id: '@hook', code: 'NOT_FOUND' },
    ],
  },
  {
    name: 'an App has one webhook with an address, and ten in all',
    steps: [
      created('first'),
      { operation: 'createWebhook', body: { url: URL }, code: 'CONFLICT', says: 'has a webhook with this url' },
      { operation: 'createWebhook', as: 'other-app', body: { url: URL }, code: 'OK' },
      created('second', { url: `${URL}/2` }),
      { operation: 'updateWebhook', id: '@second', body: { url: URL }, code: 'CONFLICT' },
      { operation: 'updateWebhook', id: '@first', body: { url: URL }, code: 'OK' },
      ...Array.from({ length: 8 }, (_, n) => created(`more-${n}`, { url: `${URL}/more/${n}` })),
      { operation: 'createWebhook', body: { url: `${URL}/eleventh` }, code: 'CONFLICT', says: 'the most it may have' },
      { operation: 'deleteWebhook', id: '@first', code: 'OK' },
      created('last', { url: `${URL}/eleventh` }),
    ],
  },
  {
    name: 'a new secret leaves the one before it valid for a day',
    steps: [
      { operation: 'rotateWebhookSecret', id: '@own-webhook', code: 'OK' },
      { operation: 'getWebhook', id: '@own-webhook', code: 'OK', data: { status: 'enabled' } },
      { operation: 'rotateWebhookSecret', id: 'default', code: 'OK', without: ['previous_secret_expires_at'] },
    ],
  },
  once('createWebhook: no address', { operation: 'createWebhook', body: {}, code: 'FIELD_REQUIRED', says: 'url' }),
  invalid('an empty address', { url: '' }, 'url'),
  invalid('no address at all', { url: 'receiver' }, 'url must be an address'),
  invalid('an address without TLS', { url: 'http://receiver.example/hook' }, 'url must be'),
  invalid('a long address', { url: `https://receiver.example/${'x'.repeat(2_048)}` }, 'url'),
  invalid('an event that there is not', { url: URL, events: ['generation.queued'] }, 'events'),
  invalid('an event twice', { url: URL, events: ['generation.failed', 'generation.failed'] }, 'events'),
  invalid('a long description', { url: URL, description: 'x'.repeat(201) }, 'description'),
  ...OF_ONE.flatMap((step) =>
    ['@foreign-webhook', '@other-app-webhook', UNKNOWN, 'not-an-id'].map((id) =>
      once(`${step.operation}: ${id}`, { ...step, id, code: 'NOT_FOUND', says: 'no webhook with this id' }),
    ),
  ),
  {
    name: 'what a webhook was told is listed by state and time, and sent again',
    steps: [
      {
        operation: 'listWebhookDeliveries',
        id: '@own-webhook',
        code: 'OK',
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
      },
      {
        operation: 'listWebhookDeliveries',
        id: '@own-webhook',
        query: { state: 'delivered' },
        code: 'OK',
        data: { deliveries: [] },
      },
      {
        operation: 'listWebhookDeliveries',
        id: '@own-webhook',
        query: { state: 'exhausted', created_after: LONG_AGO },
        code: 'OK',
        data: { deliveries: [{ delivery_id: '@own-delivery' }] },
      },
      {
        operation: 'listWebhookDeliveries',
        id: '@own-webhook',
        query: { created_before: LONG_AGO },
        code: 'OK',
        data: { deliveries: [] },
      },
      { operation: 'listWebhookDeliveries', id: 'default', code: 'OK', data: { deliveries: [] } },
      {
        operation: 'replayWebhookDelivery',
        id: '@own-webhook',
        deliveryId: '@own-delivery',
        code: 'OK',
        data: { delivery_id: '@own-delivery', state: 'pending', attempts_made: 0 },
      },
      {
        operation: 'replayWebhookDeliveries',
        id: '@own-webhook',
        body: { created_after: LONG_AGO },
        code: 'OK',
        data: { replayed: 1 },
        without: ['next_cursor'],
      },
      {
        operation: 'replayWebhookDeliveries',
        id: '@own-webhook',
        body: { created_after: LONG_AGO, created_before: LONG_AGO },
        code: 'OK',
        data: { replayed: 0 },
      },
      {
        operation: 'replayWebhookDelivery',
        id: 'default',
        deliveryId: '@own-delivery',
        code: 'NOT_FOUND',
        says: 'no delivery with this id',
      },
      {
        operation: 'replayWebhookDeliveries',
        id: '@own-webhook',
        body: { created_after: LONG_AGO, cursor: 'x' },
        code: 'FIELD_INVALID',
        says: 'earlier page',
      },
    ],
  },
  {
    name: 'a disabled webhook is told nothing again',
    steps: [
      { operation: 'updateWebhook', id: '@own-webhook', body: { enabled: false }, code: 'OK' },
      {
        operation: 'replayWebhookDelivery',
        id: '@own-webhook',
        deliveryId: '@own-delivery',
        code: 'CONFLICT',
        says: 'disabled',
      },
      {
        operation: 'replayWebhookDeliveries',
        id: '@own-webhook',
        body: { created_after: LONG_AGO },
        code: 'CONFLICT',
        says: 'disabled',
      },
    ],
  },
  once('listWebhookDeliveries: no such state', {
    operation: 'listWebhookDeliveries',
    id: '@own-webhook',
    query: { state: 'lost' },
    code: 'FIELD_INVALID',
    says: 'state must be one of pending',
  }),
  once('replayWebhookDeliveries: no beginning', {
    operation: 'replayWebhookDeliveries',
    id: '@own-webhook',
    body: {},
    code: 'FIELD_REQUIRED',
    says: 'created_after',
  }),
  {
    name: 'the address of a single generation needs its scope, a default secret and a good address',
    steps: [
      {
        operation: 'createGeneration',
        webhookUrl: URL,
        body: PICTURE,
        as: 'only generations:write',
        code: 'DEVELOPER_SCOPE_INSUFFICIENT',
        says: 'webhooks:manage',
      },
      {
        operation: 'createGeneration',
        webhookUrl: URL,
        body: PICTURE,
        code: 'CONFLICT',
        says: 'no default webhook secret',
      },
      { operation: 'rotateWebhookSecret', id: 'default', code: 'OK' },
      {
        operation: 'createGeneration',
        webhookUrl: 'http://receiver.example/',
        body: PICTURE,
        code: 'FIELD_INVALID',
        says: 'The webhook URL of a generation must be',
      },
      { operation: 'createGeneration', webhookUrl: URL, key: 'k', body: PICTURE, code: 'OK', save: 'told' },
      {
        operation: 'createGeneration',
        webhookUrl: URL,
        key: 'k',
        body: PICTURE,
        code: 'OK',
        replayed: true,
        data: { generation_id: '@told' },
      },
      { operation: 'createGeneration', key: 'k', body: PICTURE, code: 'IDEMPOTENCY_PAYLOAD_MISMATCH' },
      {
        operation: 'createGeneration',
        webhookUrl: `${URL}/2`,
        key: 'k',
        body: PICTURE,
        code: 'IDEMPOTENCY_PAYLOAD_MISMATCH',
      },
    ],
  },
];
