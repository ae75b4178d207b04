import { appsForKeys } from '../../../../core/people/account-apps.js';
import type { ConsoleOperation } from '../console-operation.js';

/** The Apps that a key can be made for, the default one first. */
export const listApps: ConsoleOperation = {
  method: 'GET',
  path: '/apps',
  async answer({ context }, { signedIn: { person } }) {
    const { defaultApp, others } = await appsForKeys(context, person.accountId);
    return { apps: [defaultApp, ...others].map(({ appId, name }) => ({ id: appId, name })) };
  },
};
