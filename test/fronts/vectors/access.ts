import type { Scope } from '../../../core/access/credential.js';
import type { ErrorCode } from '../../../core/errors.js';
import {
  type CallStep,
  type OperationName,
  type CredentialKind,
  type Vector,
  once,
  PICTURE,
  PNG_UPLOAD,
  vector,
} from './vector.js';

/** The id of an event of 1970, whose generation was never: all of the last day comes first. The id of a request says what there must be. */
const LONG_AGO = '1_0198c0de-0000-7000-8000-000000000000_4';

const PROTECTED: readonly { readonly scope: Scope; readonly request: Omit<CallStep, 'code'> }[] = [
  { scope: 'credits:read', request: { operation: 'getCredits' } },
  { scope: 'credits:read', request: { operation: 'listCreditEntries' } },
  { scope: 'credits:read', request: { operation: 'getUsage' } },
  { scope: 'generations:write', request: { operation: 'createGeneration', body: PICTURE } },
  { scope: 'generations:write', request: { operation: 'estimateGeneration', body: PICTURE } },
  { scope: 'generations:read', request: { operation: 'getGeneration', id: '@own-generation' } },
  { scope: 'generations:read', request: { operation: 'listGenerations' } },
  { scope: 'generations:read', request: { operation: 'watchGeneration', id: '@own-generation' } },
  { scope: 'generations:read', request: { operation: 'watchEvents', id: '@own-generation', lastEventId: LONG_AGO } },
  { scope: 'generations:write', request: { operation: 'deleteGeneration', id: '@ended-generation' } },
  { scope: 'generations:read', request: { operation: 'getThumbnails', id: '@ended-generation' } },
  { scope: 'generations:write', request: { operation: 'cancelGeneration', id: '@own-generation' } },
  { scope: 'uploads:write', request: { operation: 'prepareUpload', body: PNG_UPLOAD } },
  { scope: 'uploads:write', request: { operation: 'getUpload', id: '@ready-upload' } },
  { scope: 'uploads:write', request: { operation: 'deleteUpload', id: '@ready-upload' } },
  { scope: 'uploads:write', request: { operation: 'completeUpload', id: '@ready-upload' } },
  { scope: 'webhooks:manage', request: { operation: 'createWebhook', body: { url: 'https://receiver.example/new' } } },
  { scope: 'webhooks:manage', request: { operation: 'listWebhooks' } },
  { scope: 'webhooks:manage', request: { operation: 'getWebhook', id: '@own-webhook' } },
  {
    scope: 'webhooks:manage',
    request: { operation: 'updateWebhook', id: '@own-webhook', body: { description: 'orders' } },
  },
  { scope: 'webhooks:manage', request: { operation: 'deleteWebhook', id: '@own-webhook' } },
  { scope: 'webhooks:manage', request: { operation: 'rotateWebhookSecret', id: '@own-webhook' } },
  { scope: 'webhooks:manage', request: { operation: 'testWebhook', id: '@own-webhook' } },
  { scope: 'webhooks:manage', request: { operation: 'listWebhookDeliveries', id: '@own-webhook' } },
  {
    scope: 'webhooks:manage',
    request: { operation: 'replayWebhookDelivery', id: '@own-webhook', deliveryId: '@own-delivery' },
  },
  {
    scope: 'webhooks:manage',
    request: {
      operation: 'replayWebhookDeliveries',
      id: '@own-webhook',
      body: { created_after: '2020-01-01T00:00:00Z' },
    },
  },
];

const REFUSED: readonly (readonly [CredentialKind, ErrorCode])[] = [
  ['none', 'DEVELOPER_TOKEN_REQUIRED'],
  ['garbage', 'DEVELOPER_TOKEN_INVALID'],
  ['anonymous', 'DEVELOPER_TOKEN_INVALID'],
  ['oauth', 'DEVELOPER_TOKEN_INVALID'],
  ['unknown', 'DEVELOPER_TOKEN_INVALID'],
  ['mistyped', 'DEVELOPER_TOKEN_INVALID'],
  ['expired', 'DEVELOPER_TOKEN_EXPIRED'],
  ['revoked', 'DEVELOPER_TOKEN_REVOKED'],
];

/** The App of another account. */
const FOREIGN_APP = {
  app: 'foreign',
  code: 'DEVELOPER_SCOPE_INSUFFICIENT',
  says: 'X-App-Id',
  otherwise: { over: 'gRPC', code: 'NOT_FOUND', says: 'has no App', because: 'no App of its own' },
} as const satisfies Partial<CallStep>;

const otherScope = (scope: Scope): CredentialKind =>
  scope === 'credits:read' ? 'only generations:read' : 'only credits:read';

/**
 * Every protected operation with every kind of credential that must not get through, and with the least one that must.
 */
export const ACCESS_VECTORS: readonly Vector[] = [
  ...PROTECTED.flatMap(({ request, scope }) => [
    ...REFUSED.map(([as, code]) => vector(`${request.operation} with credential: ${as}`, [{ ...request, as, code }])),
    vector(`${request.operation} without its scope`, [
      { ...request, as: otherScope(scope), code: 'DEVELOPER_SCOPE_INSUFFICIENT', says: scope },
    ]),
    vector(`${request.operation} with no more than its scope`, [{ ...request, as: `only ${scope}`, code: 'OK' }]),
    vector(`${request.operation} naming its own App`, [{ ...request, app: 'own', code: 'OK' }]),
    vector(`${request.operation} naming another App`, [{ ...request, ...FOREIGN_APP }]),
  ]),
  ...(['none', 'garbage', 'revoked'] satisfies CredentialKind[]).map((as) =>
    once(`listModels with credential: ${as}`, 'listModels', 'OK', { as }),
  ),
  ...(['none', 'garbage', 'revoked'] satisfies CredentialKind[]).map((as) =>
    once(`getModel with credential: ${as}`, 'getModel', 'OK', { id: 'picture', as }),
  ),
  ...(['createGeneration', 'estimateGeneration'] satisfies OperationName[]).map((operation) =>
    once(`${operation} for a suspended account`, operation, 'DEVELOPER_TOKEN_REVOKED', {
      as: 'suspended',
      body: PICTURE,
      says: 'The account is suspended.',
    }),
  ),
  once(
    'a credential is looked at before the scope, the App, the key and the body',
    'createGeneration',
    'DEVELOPER_TOKEN_REVOKED',
    { as: 'revoked', app: 'foreign', key: null, body: {} },
  ),
  once(
    'the scope is looked at before the App, the key and the body',
    'createGeneration',
    'DEVELOPER_SCOPE_INSUFFICIENT',
    { as: 'only credits:read', app: 'foreign', key: null, body: {}, says: 'scope' },
  ),
  vector('the App is looked at before the key and the body', [
    { operation: 'createGeneration', key: null, body: {}, ...FOREIGN_APP },
  ]),
];

export const KEYED: readonly OperationName[] = ['createGeneration', 'prepareUpload', 'completeUpload'];
