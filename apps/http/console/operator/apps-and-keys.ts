import { DEFAULT_SCOPES } from '../../../../core/access/credential.js';
import { bodySchema } from '../../host/request.js';
import { NAME, NAME_WORDING } from '../console-operation.js';
import { KEY_FIELDS, KEY_WORDING, readExpiry } from '../keys-and-apps.js';
import { change, changeWith, messageTime, type OperatorOperation, read } from './operator-operation.js';

const ACCOUNT_APPS = '/accounts/:account_id/apps';
const APP = '/apps/:app_id';
const NEW_NAME = bodySchema({ name: NAME });
const NEW_KEY = bodySchema(KEY_FIELDS, ['name']);

/** The Apps of an account, and the keys of the account. */
export const APP_OPERATIONS: readonly OperatorOperation[] = [
  read(ACCOUNT_APPS, 'list the Apps of an account', ({ id, operator, paging }) =>
    operator.access.listApps({ accountId: id, ...paging }),
  ),
  changeWith(
    ACCOUNT_APPS,
    'create an App',
    NEW_NAME,
    async ({ id, operator, body, act }) => {
      const created = await operator.access.createApp({ accountId: id, displayName: body.name });
      act.note({ appId: created.app?.appId });
      return created;
    },
    NAME_WORDING,
  ),
  changeWith(
    `${APP}/rename`,
    'rename an App',
    NEW_NAME,
    async ({ id, operator, body, act }) => {
      const renamed = await operator.access.renameApp({ appId: id, displayName: body.name });
      act.note({ accountId: renamed.app?.accountId });
      return renamed;
    },
    NAME_WORDING,
  ),
  // The secret is in this answer and in no other.
  changeWith(
    `${APP}/keys`,
    'create a key',
    NEW_KEY,
    async ({ id, operator, body, act }) => {
      const { name, scopes = DEFAULT_SCOPES, expires_at: expiry, monthly_cap: cap } = body;
      const created = await operator.access.createApiKey({
        appId: id,
        displayName: name,
        scopes: [...scopes],
        expireTime: expiry === undefined ? undefined : messageTime(readExpiry(expiry)),
        monthlyCap: cap === undefined ? undefined : BigInt(cap),
      });
      act.note({ accountId: created.apiKey?.accountId, keyId: created.apiKey?.keyId });
      return created;
    },
    KEY_WORDING,
  ),
  read('/accounts/:account_id/keys', 'list the keys of an account', ({ id, operator, paging }) =>
    operator.access.listApiKeys({ accountId: id, ...paging }),
  ),
  change('/keys/:key_id/revoke', 'revoke a key', async ({ id, operator, act }) => {
    const revoked = await operator.access.revokeApiKey({ keyId: id });
    act.note({ accountId: revoked.apiKey?.accountId });
    return revoked;
  }),
];
